"""Writes the seed corpus beside this script; takes binary seeds from the import fixtures.

The seed of a model file comes from `cargo test -p graphminnet --lib -- --ignored the_seed_of_the_model_file`, before this.
"""

import io
import json
import pathlib
import struct
import tarfile
import zipfile

HERE = pathlib.Path(__file__).parent
FIXTURES = HERE.parent / "crates/graphminnet-data/tests/fixtures/import"


def seed(target, name, content):
    folder = HERE / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


seed("jsonl", "features", '{"id":"a","num_nodes":2,"edges":[[0,1]],"x":[[1,0.5,"C"],[2,1.5,"N"]],"edge_attr":[[1]],"y":1.5,"split":"train"}\n'
     '{"num_nodes":1,"edges":[],"x":[[0,2.5,"O"]],"edge_attr":[],"y":null,"split":"test"}\n')
seed("jsonl", "nodes", '{"num_nodes":2,"edge_index":[[0,1],[1,0]],"target":[[1],[0]]}\n{"num_nodes":1,"edges":[],"node_target":[2]}\n')
seed("smiles_csv", "table", 'id,smiles,y,split\na,CCO,1.5,train\nb,"c1ccccc1",,valid\nc,C[N+](C)(C)[O-],2,test\n')
V2000 = ("ethanol\n  x\n\n  3  2  0  0  0  0  0  0  0  0999 V2000\n    0.0000    0.0000    0.0000 C   0  0\n    1.0000    0.0000    0.0000 C   0  0\n"
         "    2.0000    0.0000    0.0000 O   0  5\n  1  2  1  0\n  2  3  1  1\nM  CHG  1   3  -1\nM  ISO  1   1  13\nM  END\n>  <y>\n1.5\n\n>  <name> (1)\na\n\n$$$$\n")
V3000 = ("\n  x\n\n  0  0  0     0  0            999 V3000\nM  V30 BEGIN CTAB\nM  V30 COUNTS 2 1 0 0 0\nM  V30 BEGIN ATOM\nM  V30 1 C 0 0 0 0 CFG=1\n"
         "M  V30 2 N 1 0 0 0 CHG=1 MASS=15 VAL=4\nM  V30 END ATOM\nM  V30 BEGIN BOND\nM  V30 1 2 1 2\nM  V30 END BOND\nM  V30 END CTAB\nM  END\n"
         ">  <y>\n2\n\n$$$$\n")
seed("sdf", "both", V2000 + V3000)
MAIN, PACKAGE = "http://schemas.openxmlformats.org/spreadsheetml/2006/main", "http://schemas.openxmlformats.org/package/2006/relationships"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
seed("xlsx", "workbook",
     f'=== _rels/.rels\n<Relationships xmlns="{PACKAGE}"><Relationship Id="r1" Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>\n'
     f'=== xl/_rels/workbook.xml.rels\n<Relationships xmlns="{PACKAGE}"><Relationship Id="r1" Type="{OFFICE}/worksheet" Target="worksheets/a.xml"/>'
     f'<Relationship Id="r2" Type="{OFFICE}/sharedStrings" Target="sharedStrings.xml"/><Relationship Id="r3" Type="{OFFICE}/styles" Target="styles.xml"/></Relationships>\n'
     f'=== xl/workbook.xml\n<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><workbookPr date1904="0"/><sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>\n'
     f'=== xl/sharedStrings.xml\n<sst xmlns="{MAIN}" uniqueCount="2"><si><t>smiles</t></si><si><r><t xml:space="preserve">C</t></r><r><t>CO</t></r></si></sst>\n'
     f'=== xl/styles.xml\n<styleSheet xmlns="{MAIN}"><numFmts><numFmt numFmtId="164" formatCode="yyyy-mm-dd"/></numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="164"/></cellXfs></styleSheet>\n'
     f'=== xl/worksheets/a.xml\n<worksheet xmlns="{MAIN}"><dimension ref="A1:C3"/><sheetData><row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="inlineStr"><is><t>y</t></is></c>'
     '<c r="C1" t="str"><v>d</v></c></row><row r="2"><c r="A2" t="s"><v>1</v></c><c r="B2"><v>1.5</v></c><c r="C2" s="1"><v>45000.5</v></c></row>'
     '<row r="3"><c r="A3" t="str"><f>UPPER("cc")</f><v>CC</v></c><c r="B3" t="b"><v>1</v></c><c r="C3" t="e"><v>#N/A</v></c></row></sheetData></worksheet>\n')
seed("graph6", "both", ">>graph6<<DQc\n:Fa@x^\n?\n@\nA_\n")
seed("csv_folder", "folder", "=== graphs.csv\ngraph_id,num_nodes,y\na,2,1\nb,1,0\n=== nodes.csv\ngraph_id,node_id,x\na,u,1\na,v,2\nb,w,3\n"
     "=== edges.csv\ngraph_id,source,destination,w\na,u,v,0.5\n")
seed("ogb", "folder", "=== meta.json\n{\"add_inverse_edge\":true,\"split\":\"s\",\"level\":\"graph\",\"task\":\"binary classification\"}\n"
     "=== raw/num-node-list.csv\n2\n1\n=== raw/num-edge-list.csv\n1\n0\n=== raw/edge.csv\n0,1\n=== raw/node-feat.csv\n1,2\n0,3\n1,1\n"
     "=== raw/edge-feat.csv\n4\n=== raw/graph-label.csv\n1\n0\n=== split/s/train.csv\n0\n=== split/s/valid.csv\n=== split/s/test.csv\n1\n")
seed("ogb", "superpixels", "=== meta.json\n{\"edges\":{\"rule\":\"symmetrised-gaussian-knn\",\"coords\":[1,2],\"k\":8},\"node_feat\":\"real\",\"num_classes\":3,\"task\":\"multiclass\"}\n"
     "=== raw/num-node-list.csv\n3\n=== raw/node-feat.csv\n0.5,0,0\n0.25,1,0\n0.1,0,1\n=== raw/graph-label.csv\n2\n")
seed("tudataset", "folder", "=== T_A.txt\n1, 2\n2, 1\n=== T_graph_indicator.txt\n1\n1\n2\n=== T_graph_labels.txt\n-1\n1\n=== T_node_labels.txt\n0\n1\n2\n"
     "=== T_node_attributes.txt\n0.5, 1\n1.5, 2\n2.5, 3\n=== T_edge_labels.txt\n0\n1\n")
seed("edgelist_folder", "folder", "=== a/x.edgelist\n# c\n0 1\n1 2\n=== b/y.edgelist\n0\t0\n=== train.txt\na/x\n=== test.txt\nb/y\n")
for number, text in enumerate(["CC(C)[C@@H](NC(=O)NNc1ccc(C(C)(C)C)nn1)c1ccccn1", "F/C=C/F.[Na+].[O-]C(=O)c1ccc[nH]1", "C12C3C4C1C5C2C3C45",
                               "[13CH4]%12C%12", "O=[N+]([O-])c1cc2ccccc2s1", "[Fe]<-N(C)C", "*C(*)=N"]):
    seed("smiles", "molecule-%d" % number, text)


def members(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


seed("pickle", "tuples", members(FIXTURES / "pascalvocsp.zip")["voc_superpixels_edge_wt_region_boundary/val.pickle"])
seed("pickle", "dictionaries", members(FIXTURES / "molecules.zip")["molecules/val.pickle"])
seed("pickle", "numpy", (FIXTURES / "splits_random_stratified_peptide.pickle").read_bytes())
seed("pickle", "text", b"(lp0\nI1\naL2L\naF0.5\naS'x'\naVy\na(dp1\nS'k'\nI01\nsa.")
seed("torch", "zip", members(FIXTURES / "peptidesfunc.zip")["peptidesfunc/train.pt"])
seed("torch", "sequence", members(FIXTURES / "CLUSTER_v2.zip")["CLUSTER_val.pt"])
seed("zip", "two", (FIXTURES / "split_info_tiny.zip").read_bytes())
raw = io.BytesIO()
with tarfile.open(fileobj=raw, mode="w", format=tarfile.GNU_FORMAT) as archive:
    for name, text in {"a.edgelist": b"0 1\n", "b/" + "long" * 30 + ".txt": b"x"}.items():
        info = tarfile.TarInfo(name)
        info.size = len(text)
        archive.addfile(info, io.BytesIO(text))
seed("tar", "plain", raw.getvalue()[:5120])

RECIPES = HERE.parent / "crates/graphminnet/recipes"
for name in ["zinc", "pascalvoc-sp", "molhiv"]:
    seed("recipe", name, (RECIPES / (name + ".toml")).read_bytes())
seed("buffers", "steps", bytes([0, 200, 0, 100, 4, 0, 8, 50, 4, 0, 9, 0] * 20))
seed("buffers", "lost", bytes([1, 30, 2, 100, 7, 0, 5, 0, 9, 9] * 20))


def tensors(parts):
    """The bytes of a safetensors file: (name, type, shape, bytes)."""
    header, data = {}, b""
    for name, kind, shape, content in parts:
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


description, weights = (HERE / "corpus/bundle/small").read_bytes().split(b"\n", 1)
length = struct.unpack("<Q", weights[:8])[0]
moments = []
for name, tensor in json.loads(weights[8:8 + length]).items():
    start, end = tensor["data_offsets"]
    if name != "__metadata__" and not name.endswith(("running_mean", "running_var")):
        size = (end - start) // 4
        moments += [(name + ".first", "F32", [size], bytes(end - start)), (name + ".second", "F32", [size], bytes(end - start)),
                    (name + ".steps", "U64", [1], struct.pack("<Q", 3))]
state = {"version": 1, "seed": 0, "config_hash": "c", "data_fingerprint": "d", "position": {"epoch": 1, "step": 2}, "global_step": 3,
         "sums": {"loss": "0.25", "labels": 4, "graphs": 4, "skipped_batches": 0, "gradient_norm": "1.5", "largest_gradient_norm": "1.5",
                  "clipped_steps": 0, "seconds": 0.5},
         "best": {"epoch": 0, "numbers": ["0.5", None, "1"], "worst_valid_id": "a"}, "undefined_evaluations": 0, "seconds": 1.5,
         "metrics_length": 10, "events_length": 20}
seed("checkpoint", "small", b"=== model.safetensors\n" + weights + b"\n=== optim.safetensors\n" + tensors(moments)
     + b"\n=== train.json\n" + json.dumps(state).encode() + b"\n=== best.safetensors\n" + weights)


def request(method, path, body=""):
    return "%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (method, path, len(body.encode()), body)


seed("http", "predict", request("POST", "/predict", '{"smiles":["CCO","c1ccccc1[N+](=O)[O-]","C1CC"]}'))
seed("http", "graphs", request("POST", "/predict", '{"graphs":[{"id":"a","num_nodes":3,"edges":[[0,1],[1,2]],"node_features":[[0],[1],[2]],'
                               '"edge_features":[[1],[2]]},{"num_nodes":1,"edges":[]}]}'))
seed("http", "explain", request("POST", "/explain", '{"smiles":["CN1C=NC2=C1C(=O)N(C)C(=O)N2C"]}'))
seed("http", "several", "".join(request("GET", path) for path in ["/health", "/model", "/metrics", "/openapi.json", "/", "/nothing"]))
seed("http", "chunked", "POST /predict HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n"
     '12\r\n{"smiles":["CCO"]}\r\n0\r\n\r\n')

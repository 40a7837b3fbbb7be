//! Python's objects on one side, calls and replies on the other: all code that the compiler cannot check is here and in
//! `pool`.

use crate::calls::{Arrays, Call, Caller, Reply};
use graphminnet::Ensemble;
use pyo3_ffi as py;
use pyo3_ffi::PyObject;
use std::ffi::{CStr, c_char};
use std::ptr::null_mut;
use std::slice;
use std::sync::Arc;

/// What handles are called.
const HANDLE: &CStr = c"graphminnet._native.Model";

static mut METHODS: [py::PyMethodDef; 2] = [
    py::PyMethodDef {
        ml_name: c"call".as_ptr(),
        ml_meth: py::PyMethodDefPointer { PyCFunction: call },
        ml_flags: py::METH_VARARGS,
        ml_doc: c"call(method, request, arrays, handle, callback, /)\n--\n\nThe one way into the library: JSON and arrays in, JSON, arrays and a handle out."
            .as_ptr(),
    },
    py::PyMethodDef::zeroed(),
];

static mut SLOTS: [py::PyModuleDef_Slot; 1] = [py::PyModuleDef_Slot { slot: 0, value: null_mut() }];

static mut MODULE: py::PyModuleDef = py::PyModuleDef {
    m_base: py::PyModuleDef_HEAD_INIT,
    m_name: c"_native".as_ptr(),
    m_doc: c"The native part of graphminnet.".as_ptr(),
    m_size: 0,
    m_methods: (&raw mut METHODS).cast(),
    m_slots: (&raw mut SLOTS).cast(),
    m_traverse: None,
    m_clear: None,
    m_free: None,
};

/// What Python calls to import the module.
#[unsafe(no_mangle)]
pub extern "C" fn PyInit__native() -> *mut PyObject {
    // SAFETY: Python holds its lock here, and the definition lives as long as the process.
    unsafe { py::PyModuleDef_Init(&raw mut MODULE) }
}

/// `call(method: str, request: str, arrays: tuple, handle, callback)`.
extern "C" fn call(_: *mut PyObject, arguments: *mut PyObject) -> *mut PyObject {
    // SAFETY: Python calls with its lock held and a tuple of arguments, which it keeps alive until we return.
    unsafe {
        let Some((call, callback)) = read_call(arguments) else { return null_mut() };
        let mut caller = Interpreter { callback, state: py::PyEval_SaveThread(), raised: None };
        let reply = call.answer(&mut caller);
        py::PyEval_RestoreThread(caller.state);
        match caller.raised {
            Some([kind, value, traceback]) => {
                py::PyErr_Restore(kind, value, traceback);
                null_mut()
            }
            None => write_reply(reply),
        }
    }
}

/// The arguments, to be used as long as they live; `None` with an exception set if they are not what they should be.
unsafe fn read_call<'a>(arguments: *mut PyObject) -> Option<(Call<'a>, *mut PyObject)> {
    unsafe {
        if py::PyTuple_Size(arguments) != 5 {
            let text = c"call() takes a method, a request, arrays, a handle and a callback";
            py::PyErr_SetString(py::PyExc_TypeError, text.as_ptr());
            return None;
        }
        let [method, request, arrays, handle, callback] =
            [0, 1, 2, 3, 4].map(|at| py::PyTuple_GetItem(arguments, at));
        let (method, request) = (text(method)?, text(request)?);
        if py::PyTuple_Check(arrays) == 0 {
            py::PyErr_SetString(py::PyExc_TypeError, c"the arrays of call() are a tuple".as_ptr());
            return None;
        }
        let count = py::PyTuple_Size(arrays);
        let mut parts = Vec::with_capacity(count as usize);
        for at in 0..count {
            parts.push(bytes_of(py::PyTuple_GetItem(arrays, at))?);
        }
        let handle = if handle == py::Py_None() {
            None
        } else {
            let model = py::PyCapsule_GetPointer(handle, HANDLE.as_ptr()).cast::<Ensemble>();
            if model.is_null() {
                return None;
            }
            // The capsule keeps its own count.
            Arc::increment_strong_count(model);
            Some(Arc::from_raw(model))
        };
        Some((Call { method, request, arrays: Arrays(parts), handle }, callback))
    }
}

unsafe fn text(object: *mut PyObject) -> Option<String> {
    unsafe {
        let mut length = 0;
        let bytes = py::PyUnicode_AsUTF8AndSize(object, &mut length);
        if bytes.is_null() {
            return None;
        }
        let bytes = slice::from_raw_parts(bytes.cast::<u8>(), length as usize);
        Some(String::from_utf8_lossy(bytes).into_owned())
    }
}

/// What an object of type `bytes` holds. It never changes, so it may be read while others hold Python's lock; and unlike
/// buffers, it is in the stable interface of Python 3.10.
unsafe fn bytes_of<'a>(object: *mut PyObject) -> Option<&'a [u8]> {
    unsafe {
        let (mut start, mut length) = (null_mut(), 0);
        if py::PyBytes_AsStringAndSize(object, &mut start, &mut length) != 0 {
            return None;
        }
        Some(slice::from_raw_parts(start.cast::<u8>(), length as usize))
    }
}

/// `(text, arrays, handle)`; null with an exception set if there is no memory.
unsafe fn write_reply(reply: Reply) -> *mut PyObject {
    unsafe {
        let text = new_text(&reply.value.to_string());
        let arrays = py::PyTuple_New(reply.arrays.len() as isize);
        if arrays.is_null() {
            py::Py_XDECREF(text);
            return null_mut();
        }
        for (at, array) in reply.arrays.iter().enumerate() {
            let bytes = py::PyByteArray_FromStringAndSize(array.as_ptr().cast(), array.len() as isize);
            // Takes the reference, also where there is none.
            py::PyTuple_SetItem(arrays, at as isize, bytes);
            if bytes.is_null() {
                py::Py_DECREF(arrays);
                py::Py_XDECREF(text);
                return null_mut();
            }
        }
        let handle = match reply.handle {
            None => {
                py::Py_INCREF(py::Py_None());
                py::Py_None()
            }
            Some(model) => {
                let model = Arc::into_raw(model).cast_mut();
                py::PyCapsule_New(model.cast(), HANDLE.as_ptr(), Some(drop_handle))
            }
        };
        let parts = [text, arrays, handle];
        let whole = py::PyTuple_New(3);
        if whole.is_null() || parts.iter().any(|part| part.is_null()) {
            parts.into_iter().chain([whole]).for_each(|part| py::Py_XDECREF(part));
            return null_mut();
        }
        for (at, part) in parts.into_iter().enumerate() {
            py::PyTuple_SetItem(whole, at as isize, part);
        }
        whole
    }
}

unsafe fn new_text(text: &str) -> *mut PyObject {
    unsafe { py::PyUnicode_FromStringAndSize(text.as_ptr().cast::<c_char>(), text.len() as isize) }
}

/// Gives up a capsule's count of its model.
unsafe extern "C" fn drop_handle(capsule: *mut PyObject) {
    unsafe {
        let model = py::PyCapsule_GetPointer(capsule, HANDLE.as_ptr()).cast::<Ensemble>();
        if !model.is_null() {
            drop(Arc::from_raw(model));
        }
    }
}

/// Python, whose lock the call does not hold while it works.
struct Interpreter {
    /// What to call, or None; the call's arguments keep it alive.
    callback: *mut PyObject,
    /// This thread while it does not hold the lock.
    state: *mut py::PyThreadState,
    /// The first exception.
    raised: Option<[*mut PyObject; 3]>,
}

impl Interpreter {
    /// Does something with the lock held; whether no exception came of it.
    fn with_lock(&mut self, work: impl FnOnce(*mut PyObject) -> bool) -> bool {
        // SAFETY: the state is that of this thread, which gave the lock back and takes it here.
        unsafe {
            py::PyEval_RestoreThread(self.state);
            let fine = work(self.callback);
            if !fine {
                let mut error = [null_mut(); 3];
                let [kind, value, traceback] = &mut error;
                py::PyErr_Fetch(kind, value, traceback);
                match self.raised {
                    None => self.raised = Some(error),
                    Some(_) => error.into_iter().for_each(|part| py::Py_XDECREF(part)),
                }
            }
            self.state = py::PyEval_SaveThread();
            fine
        }
    }
}

impl Caller for Interpreter {
    fn tell(&mut self, event: &str) -> bool {
        if self.raised.is_some() {
            return false;
        }
        // SAFETY: the lock is held; new references are given up.
        self.with_lock(|callback| unsafe {
            if py::PyErr_CheckSignals() != 0 {
                return false;
            }
            if callback == py::Py_None() {
                return true;
            }
            let arguments = py::PyTuple_New(1);
            let text = new_text(event);
            if arguments.is_null() || text.is_null() {
                py::Py_XDECREF(arguments);
                py::Py_XDECREF(text);
                return false;
            }
            py::PyTuple_SetItem(arguments, 0, text);
            let answer = py::PyObject_CallObject(callback, arguments);
            py::Py_DECREF(arguments);
            py::Py_XDECREF(answer);
            !answer.is_null()
        })
    }

    fn is_patient(&mut self) -> bool {
        // SAFETY: the lock is held.
        self.raised.is_none() && self.with_lock(|_| unsafe { py::PyErr_CheckSignals() == 0 })
    }
}

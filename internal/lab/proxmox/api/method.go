package api

import "net/http"

// Endpoint is a method of the API: a verb and a path template.
type Endpoint struct {
	Verb, Path string
}

// Method is one method of the API and what answers it. Its parameters, permissions and returns are those of the embedded API
// description. Only the front of this package can have it answered, so that nobody comes past its checks.
type Method struct {
	Endpoint

	serve func(*Call) (any, error)
}

// Get is a method that shows something.
func Get(path string, serve func(*Call) (any, error)) Method {
	return Method{Endpoint{http.MethodGet, path}, serve}
}

// Post is a method that makes or does something.
func Post(path string, serve func(*Call) (any, error)) Method {
	return Method{Endpoint{http.MethodPost, path}, serve}
}

// Put is a method that changes something.
func Put(path string, serve func(*Call) (any, error)) Method {
	return Method{Endpoint{http.MethodPut, path}, serve}
}

// Delete is a method that removes something.
func Delete(path string, serve func(*Call) (any, error)) Method {
	return Method{Endpoint{http.MethodDelete, path}, serve}
}

package api

import "net/http"

// Endpoint is a method of the API: a verb and a path template.
type Endpoint struct {
	Verb, Path string
}

// Method is one API method and its handler. Its parameters, permissions and returns are those of the embedded API
// description. Only the front of this package can call the handler, so its checks cannot be bypassed.
type Method struct {
	Endpoint

	serve func(*Call) (any, error)
}

// Get returns a method that reads.
func Get(path string, serve func(*Call) (any, error)) Method {
	return Method{Endpoint{http.MethodGet, path}, serve}
}

// Post returns a method that creates or executes.
func Post(path string, serve func(*Call) (any, error)) Method {
	return Method{Endpoint{http.MethodPost, path}, serve}
}

// Put returns a method that updates.
func Put(path string, serve func(*Call) (any, error)) Method {
	return Method{Endpoint{http.MethodPut, path}, serve}
}

// Delete returns a method that deletes.
func Delete(path string, serve func(*Call) (any, error)) Method {
	return Method{Endpoint{http.MethodDelete, path}, serve}
}

package truenas

import (
	"fmt"
	"strings"
	"syscall"
)

// Codes of errors (truenas_api_client, jsonrpc.py, JSONRPCError).
const (
	codeInvalidJSON     = -32700
	codeInvalidRequest  = -32600
	codeMethodNotFound  = -32601
	codeInvalidParams   = -32602
	codeTooManyCalls    = -32000
	codeMethodCallError = -32001
)

// errNotAuthenticated is ENOTAUTHENTICATED, a number of the middleware's own (truenas_api_client, exc.py, ErrnoMixin).
const errNotAuthenticated syscall.Errno = 207

// names are the names of the error numbers that the box answers with.
var names = map[syscall.Errno]string{
	syscall.ENOENT: "ENOENT", syscall.EINVAL: "EINVAL", syscall.EFAULT: "EFAULT", syscall.EBUSY: "EBUSY", syscall.EPERM: "EPERM",
	syscall.EACCES: "EACCES", syscall.ENOTEMPTY: "ENOTEMPTY", syscall.EOPNOTSUPP: "EOPNOTSUPP", errNotAuthenticated: "ENOTAUTHENTICATED",
}

// callError is an error of a method's work (service_exception.py, CallError).
type callError struct {
	number syscall.Errno
	text   string
}

func (e callError) Error() string { return fmt.Sprintf("[%s] %s", names[e.number], e.text) }

// uncaught is an exception that the method did not expect; the box passes on its text without a number.
type uncaught string

func (e uncaught) Error() string { return string(e) }

// invalid is one parameter that a method refuses (service_exception.py, ValidationError). An empty attribute stands for none.
type invalid struct {
	attribute string
	text      string
	number    syscall.Errno
}

// invalids are all refused parameters of a call (service_exception.py, ValidationErrors).
type invalids []invalid

// add records a refused parameter with EINVAL.
func (e *invalids) add(attribute, format string, values ...any) {
	*e = append(*e, invalid{attribute, fmt.Sprintf(format, values...), syscall.EINVAL})
}

// orNil returns the error; nil if nothing is refused.
func (e invalids) orNil() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

func (e invalids) Error() string {
	var text strings.Builder
	for _, one := range e {
		fmt.Fprintf(&text, "[%s] %s: %s\n", names[one.number], one.attribute, one.text)
	}
	return text.String()
}

// notFound is the error of an object that is not there (service/crud_service.py, get_instance). It is a validation error without an
// attribute.
type notFound struct{ what string }

func (e notFound) Error() string { return "[ENOENT] None: " + e.what + " does not exist" }

// failure is the member "error" of a response.
type failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    *data  `json:"data,omitempty"`
}

// data is what the middleware reports about an error (api/base/server/ws_handler/rpc.py, format_truenas_error). The trace of Python is left
// out.
type data struct {
	Error  syscall.Errno `json:"error"`
	Name   string        `json:"errname"`
	Reason string        `json:"reason"`
	Trace  any           `json:"trace"`
	Extra  any           `json:"extra"`
}

// failureOf returns the answer for an error of a method (api/base/server/ws_handler/rpc.py, process_method_call).
func failureOf(err error) *failure {
	switch e := err.(type) {
	case tooManyCalls:
		return &failure{Code: codeTooManyCalls, Message: e.Error()}
	case invalids:
		extra := make([][3]any, len(e))
		for i, one := range e {
			extra[i] = [3]any{one.attribute, one.text, one.number}
		}
		return &failure{codeInvalidParams, "Invalid params", &data{syscall.EINVAL, "EINVAL", e.Error(), nil, extra}}
	case notFound:
		extra := [][3]any{{nil, e.what + " does not exist", syscall.ENOENT}}
		return &failure{codeInvalidParams, "Invalid params", &data{syscall.EINVAL, "EINVAL", e.Error(), nil, extra}}
	case callError:
		return &failure{codeMethodCallError, "Method call error", &data{e.number, names[e.number], e.Error(), nil, nil}}
	default:
		return &failure{codeMethodCallError, "Method call error", &data{syscall.EINVAL, "EINVAL", err.Error(), nil, nil}}
	}
}

// tooManyCalls is the error of a connection with too many calls at a time.
type tooManyCalls struct{}

func (tooManyCalls) Error() string {
	return fmt.Sprintf("Maximum number of concurrent calls (%d) has exceeded", maxCalls)
}

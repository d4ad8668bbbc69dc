package truenas

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"syscall"
)

// Numbers of errors that are handled.
const (
	ENOENT    = syscall.Errno(2)
	EACCES    = syscall.Errno(13)
	EFAULT    = syscall.Errno(14)
	EBUSY     = syscall.Errno(16)
	EINVAL    = syscall.Errno(22)
	ENOTEMPTY = syscall.Errno(39)
)

// Codes of JSON-RPC.
const (
	codeMethodNotFound = -32601
	codeTooManyCalls   = -32000
)

// Error is what a method answers instead of a result.
type Error struct {
	// Method that was called.
	Method string
	// Code of JSON-RPC; 0 of a job that failed.
	Code int
	// Number is the error number. It is ENOENT if the object does not exist, although the box then answers EINVAL.
	Number syscall.Errno
	// Reason is the box's own text, without its name of the number.
	Reason string
	// Attributes are the parameters that are refused.
	Attributes []Attribute
	// Do is what to do; empty if that depends on the purpose of the call.
	Do string
}

// Attribute is one parameter that is refused.
type Attribute struct {
	// Name is the path of the parameter; empty for the call as a whole.
	Name string
	// Text says what is wrong.
	Text string
}

// Remedy returns what to do; empty where the answer has none.
func (e *Error) Remedy() string { return e.Do }

// Error returns one line, or one for each parameter that is refused.
func (e *Error) Error() string {
	if len(e.Attributes) == 0 {
		text := "TrueNAS, " + e.Method + ": " + e.Reason
		if e.Do != "" {
			text += ": " + e.Do
		}
		return text
	}
	lines := make([]string, len(e.Attributes))
	for i, a := range e.Attributes {
		lines[i] = "TrueNAS, " + e.Method + ": "
		if a.Name != "" {
			lines[i] += a.Name + ": "
		}
		lines[i] += a.Text
	}
	return strings.Join(lines, "\n")
}

// Number returns the number of an [*Error]; 0 for any other error.
func Number(err error) syscall.Errno {
	if failed := new(Error); errors.As(err, &failed) {
		return failed.Number
	}
	return 0
}

// IsGone reports whether an error says that the object is not there.
func IsGone(err error) bool { return Number(err) == ENOENT }

// IsFull reports whether an error says that a pool has no room. The box has no number for it: EFAULT with ZFS' text.
func IsFull(err error) bool {
	return Number(err) == EFAULT && strings.Contains(err.Error(), "out of space")
}

// rpcError is the member "error" of an answer.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    struct {
		Number syscall.Errno   `json:"error"`
		Reason string          `json:"reason"`
		Extra  json.RawMessage `json:"extra"`
	} `json:"data"`
}

// of returns the error of a method. A missing object is a refused parameter whose own number is ENOENT.
func (e *rpcError) of(method string) error {
	failed := &Error{Method: method, Code: e.Code, Number: e.Data.Number, Reason: e.Data.Reason}
	if name, rest, named := strings.Cut(failed.Reason, "] "); named && strings.HasPrefix(name, "[E") {
		failed.Reason = rest
	}
	switch e.Code {
	case codeTooManyCalls:
		failed.Number, failed.Reason, failed.Do = EBUSY, "too many calls at a time on this connection", "run it again"
		return failed
	case codeMethodNotFound:
		failed.Reason, failed.Do = "there is no such method", "the box is older than 25.04 or newer than 26, see docs/storage.md"
		return failed
	}
	var extra [][3]any
	if json.Unmarshal(e.Data.Extra, &extra) == nil {
		for _, line := range extra {
			name, _ := line[0].(string)
			failed.Attributes = append(failed.Attributes, Attribute{Name: name, Text: fmt.Sprint(line[1])})
			if number, is := line[2].(float64); is && syscall.Errno(number) == ENOENT {
				failed.Number = ENOENT
			}
		}
	}
	if failed.Reason == "" {
		failed.Reason = e.Message
	}
	if failed.Number == EACCES {
		failed.Do = "the user of the API key lacks a role, see docs/storage.md"
	}
	return failed
}

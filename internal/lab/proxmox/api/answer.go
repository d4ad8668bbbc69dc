package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// answer is a response of Proxmox VE's daemons.
type answer struct {
	status int
	// message is the reason phrase and the body's message; empty after a success.
	message string
	errors  map[string]string
	data    any
	// total is the number of lines of a partial log.
	total *int
	// changes are the staged changes of a network.
	changes string
	// plain answers have no JSON body: refused logins, and responses outside the API.
	plain bool
	delay time.Duration
	// lost answers are not sent: the connection breaks.
	lost bool
}

// ErrPowerCut makes the host lose its power instead of sending a response.
var ErrPowerCut = errors.New("the power is cut")

// StatusError is an error with its own HTTP status.
type StatusError struct {
	Status  int
	Message string
	// Plain answers have no body.
	Plain bool
}

// Error returns the reason phrase of the response.
func (e *StatusError) Error() string { return e.Message }

// failure turns an error into a response: 400 for invalid parameters, 403 for a refusal, and otherwise what Perl makes of a
// die (pve-manager HTTPServer.pm, rest_handler).
func failure(err error) *answer {
	var (
		params   *schema.ParamError
		declared *StatusError
	)

	switch {
	case errors.As(err, &declared):
		return &answer{status: declared.Status, message: declared.Message, plain: declared.Plain}
	case errors.As(err, &params):
		return &answer{status: http.StatusBadRequest, message: params.Error() + "\n", errors: params.Errors}
	case errors.Is(err, access.ErrPermission):
		return &answer{status: http.StatusForbidden, message: err.Error() + "\n"}
	default:
		return &answer{status: http.StatusInternalServerError, message: err.Error() + "\n"}
	}
}

// body returns the JSON body (pve-http-server Formatter/Standard.pm).
func (a *answer) body() ([]byte, error) {
	if a.plain {
		return nil, nil
	}

	raw, err := json.Marshal(struct {
		Data    any               `json:"data"`
		Message string            `json:"message,omitempty"`
		Errors  map[string]string `json:"errors,omitempty"`
		Total   *int              `json:"total,omitempty"`
		Changes string            `json:"changes,omitempty"`
	}{a.data, a.message, a.errors, a.total, a.changes})
	if err != nil {
		return nil, fmt.Errorf("encode the answer: %w", err)
	}

	return raw, nil
}

// reason returns the first line of the message.
func (a *answer) reason() string {
	first, _, _ := strings.Cut(a.message, "\n")
	if first = strings.TrimRight(first, "\r"); first == "" || strings.ContainsRune(first, '\r') {
		return http.StatusText(a.status)
	}

	return first
}

const serverName = "pve-api-daemon/3.0"

// write sends the response. A failure closes the connection, and its status line contains the text of Proxmox VE. net/http
// does not support that, so the connection is hijacked, as HTTP/1.1 allows.
func (a *answer) write(w http.ResponseWriter, now time.Time) error {
	body, err := a.body()
	if err != nil {
		return err
	}

	header := http.Header{
		"Server":        {serverName},
		"Date":          {now.UTC().Format(http.TimeFormat)},
		"Expires":       {now.UTC().Format(http.TimeFormat)},
		"Cache-Control": {"max-age=0"},
		"Pragma":        {"no-cache"},
	}
	if !a.plain {
		header.Set("Content-Type", "application/json;charset=UTF-8")
	}

	if hijacker, ok := w.(http.Hijacker); ok && a.status >= http.StatusBadRequest {
		return a.writeRaw(hijacker, header, body)
	}

	for name, values := range header {
		w.Header()[name] = values
	}

	w.WriteHeader(a.status)
	_, err = w.Write(body)

	return err
}

func (a *answer) writeRaw(hijacker http.Hijacker, header http.Header, body []byte) error {
	conn, _, err := hijacker.Hijack()
	if err != nil {
		return fmt.Errorf("take over the connection: %w", err)
	}
	defer conn.Close()

	const patience = 10 * time.Second
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}

	header.Set("Connection", "close")

	if len(body) > 0 {
		header.Set("Content-Length", fmt.Sprint(len(body)))
	}

	var raw bytes.Buffer

	fmt.Fprintf(&raw, "HTTP/1.1 %d %s\r\n", a.status, a.reason())

	if err := header.Write(&raw); err != nil {
		return err
	}

	raw.WriteString("\r\n")
	raw.Write(body)
	_, err = conn.Write(raw.Bytes())

	return err
}

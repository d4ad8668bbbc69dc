package pve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/luthermonson/go-proxmox"
)

// Reader queries a Proxmox VE host, or cluster of hosts, and changes nothing. It is safe for concurrent use.
type Reader struct{ client *proxmox.Client }

// NewReader returns a reader for a connection. It sends no request. The error is [ErrToken] or [ErrEndpoint].
func NewReader(c Connection) (Reader, error) {
	client, err := c.Client()
	return Reader{client: client}, err
}

// ErrForbidden means that the token may not read something.
var ErrForbidden = errors.New("the token may not read it")

// ErrSilent is matched by the errors of a host that did not answer: it is off, cannot be reached, starts, or takes too long. The host that was
// asked may itself report that of another one of its cluster.
var ErrSilent = errors.New("the host does not answer")

// silentError is the lack of an answer, in the words of the client or host that noticed it.
type silentError struct{ text string }

func (e *silentError) Error() string { return e.text }

func (e *silentError) Is(target error) bool { return target == ErrSilent }

// get reads one object of the API. The error is one sentence without the URL; it matches [ErrForbidden], [ErrSilent] or neither.
func (r Reader) get(ctx context.Context, into any, path string, query ...string) error {
	if len(query) > 0 {
		values := url.Values{}
		for i := 0; i+1 < len(query); i += 2 {
			values.Set(query[i], query[i+1])
		}
		path += "?" + values.Encode()
	}
	err := r.client.Get(ctx, path, into)
	switch {
	case err == nil:
		return nil
	case proxmox.IsNotAuthorized(err):
		return ErrForbidden
	case isSilence(err):
		return &silentError{withoutURL(err).Error()}
	default:
		return errors.New(strings.TrimPrefix(withoutURL(err).Error(), "500 "))
	}
}

// isSilence reports whether a request has failed because no connection could be made, or no answer came in time.
func isSilence(err error) bool {
	var (
		silence *silentError
		network *net.OpError
		timing  net.Error
	)
	isRefused := errors.As(err, &network) && network.Op == "dial"
	return errors.As(err, &silence) || isRefused || errors.As(err, &timing) && timing.Timeout()
}

// Flag is a boolean, which the API writes as 1 or 0, as a string of these, or as true or false.
type Flag bool

// UnmarshalJSON implements [json.Unmarshaler].
func (f *Flag) UnmarshalJSON(text []byte) error {
	switch word := strings.Trim(string(text), `"`); word {
	case "1", "true":
		*f = true
	case "0", "false", "", "null":
		*f = false
	default:
		return fmt.Errorf("%s is neither 1 nor 0", word)
	}
	return nil
}

func nodePath(node, rest string) string { return "/nodes/" + url.PathEscape(node) + "/" + rest }

// loud turns statuses that the library takes for empty answers into errors, such as 596 for a host that cannot be reached.
type loud struct{ http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (l loud) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := l.RoundTripper.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	switch code := response.StatusCode; {
	case code < http.StatusMultipleChoices, code == http.StatusBadRequest, code == http.StatusUnauthorized,
		code == http.StatusForbidden, code == http.StatusInternalServerError, code == http.StatusNotImplemented:
		return response, nil
	}
	response.Body.Close()
	if isNotPassedOn(response.StatusCode) {
		return nil, &silentError{response.Status}
	}
	return nil, errors.New(response.Status)
}

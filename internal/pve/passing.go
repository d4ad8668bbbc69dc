package pve

import (
	"net/http"
	"time"
)

// passing repeats once a read that a host could not pass on to another host: their connection may have failed for a moment, and a missing answer
// shows nothing about what was asked.
type passing struct{ http.RoundTripper }

// passingPause is the time before a read is repeated.
const passingPause = time.Second

// RoundTrip implements [http.RoundTripper].
func (p passing) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := p.RoundTripper.RoundTrip(request)
	if err != nil || request.Method != http.MethodGet || !isNotPassedOn(response.StatusCode) {
		return response, err
	}
	pause := time.NewTimer(passingPause)
	defer pause.Stop()
	select {
	case <-pause.C:
	case <-request.Context().Done():
		return response, nil
	}
	response.Body.Close()
	return p.RoundTripper.RoundTrip(request)
}

// isNotPassedOn reports whether a status is one of those with which the HTTP client of pveproxy ends when it cannot reach the other host
// (AnyEvent::HTTP: 595 for the connection, 596 for the request and the headers, 597 for the body).
func isNotPassedOn(status int) bool { return status >= 595 && status <= 597 }

package pve

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/em-infra/em-infra/internal/pve/hostspec"
)

// Impatient returns a host that is asked often, and whose locks count as left behind after the given time.
func Impatient(h Host, patience time.Duration) Host {
	h.interval, h.lockTimeout = 10*time.Millisecond, patience
	return h
}

// EnsureImageTemplateOn is [Connection.EnsureImageTemplate] with a given host, such as an [Impatient] one.
func EnsureImageTemplateOn(ctx context.Context, c Connection, h Host, t ImageTemplate) (made bool, err error) {
	return c.ensureImageTemplate(ctx, h, t)
}

// Strict returns a host whose tasks count as hung when they have written nothing for the given time.
func Strict(h Host, silence time.Duration) Host {
	h.silence = silence
	return h
}

// ReportTimeout is the time limit for the report of a host.
const ReportTimeout = reportTimeout

// ReadHostsFile returns a text of /etc/hosts as it is written again.
func ReadHostsFile(text string) string { return parseHostsFile(text).String() }

// CheckHostsFile checks a text of /etc/hosts as it would be written again.
func CheckHostsFile(text, node string) error { return parseHostsFile(text).check(node) }

// NextRepositoryCall returns the next call for a repository, given the API's answer about the present ones: PUT or POST and its parameters, or
// nothing.
func NextRepositoryCall(present, handle string, enabled bool, suite string) (call string, err error) {
	var r repositories
	if err := json.Unmarshal([]byte(present), &r); err != nil {
		return "", err
	}
	next, isNeeded := r.next(hostspec.Repository{Handle: handle, Enabled: enabled}, suite)
	switch {
	case !isNeeded:
		return "", nil
	case next.isNew:
		return "PUT " + next.params["handle"], nil
	default:
		return fmt.Sprintf("POST %s %s %s", next.params["path"], next.params["index"], next.params["enabled"]), nil
	}
}

// HasFailed reports whether a task that has ended has not done its work.
var HasFailed = hasFailed

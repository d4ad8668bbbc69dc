package status

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/pve"
)

// WithUnread returns the report with the reasons why something could not be queried, and what to do about each.
func (r Report) WithUnread(reasons ...error) Report {
	r.Unread, r.unreadRemedies = slices.Clone(r.Unread), maps.Clone(r.unreadRemedies)
	for _, reason := range reasons {
		if reason == nil {
			continue
		}
		text := inOneLine(reason)
		r.Unread = append(r.Unread, text)
		if remedy := unreadRemedy(reason); remedy != "" {
			if r.unreadRemedies == nil {
				r.unreadRemedies = map[string]string{}
			}
			r.unreadRemedies[text] = remedy
		}
	}
	return r
}

// unreadRemedy returns what to do about a reason; empty if the reason names it itself, if none is known, or if its parts have different remedies.
func unreadRemedy(reason error) string {
	parts := partsOf(reason)
	first := partRemedy(parts[0])
	if slices.ContainsFunc(parts, func(part error) bool { return partRemedy(part) != first }) {
		return ""
	}
	return first
}

// inOneLine returns the text of an error with the errors that it joins in one line. A line feed within one of these stays: it may be part of a
// secret, which is recognized only in its original form when the text is printed.
func inOneLine(err error) string {
	parts, text := partsOf(err), err.Error()
	for _, part := range parts[1:] {
		text = strings.Replace(text, "\n"+part.Error(), "; "+part.Error(), 1)
	}
	return text
}

// partsOf returns the errors that an error joins; the error itself if it joins none.
func partsOf(err error) []error {
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		if joined, isJoin := inner.(interface{ Unwrap() []error }); isJoin && len(joined.Unwrap()) > 0 { //nolint:errorlint // each error of the chain is looked at
			return joined.Unwrap()
		}
	}
	return []error{err}
}

// partRemedy returns what to do about an error that joins no others.
func partRemedy(reason error) string {
	var network *net.OpError
	isRefused := errors.As(reason, &network) && network.Op == "dial"
	switch {
	case errors.Is(reason, pve.ErrForbidden):
		return "`em-infra role` prints what the token lacks"
	case isRefused, errors.Is(reason, pve.ErrSilent), errors.Is(reason, nodeops.ErrSilent), errors.Is(reason, context.DeadlineExceeded):
		return "it may be starting: run `em-infra status` again in a minute, and look at its console if it stays away"
	default:
		return ""
	}
}

// printUnread prints what could not be asked; a remedy of several reasons once, below the last of them.
func (r Report) printUnread(out io.Writer) {
	for i, reason := range r.Unread {
		fmt.Fprintf(out, "not read      %s\n", reason)
		remedy := r.unreadRemedies[reason]
		if isLast := i+1 == len(r.Unread) || r.unreadRemedies[r.Unread[i+1]] != remedy; isLast && remedy != "" {
			fmt.Fprintf(out, "              → %s\n", remedy)
		}
	}
}

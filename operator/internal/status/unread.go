package status

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/pve"
)

// WithUnread returns the report with the reasons why something could not be asked, and what to do about each.
func (r Report) WithUnread(reasons ...error) Report {
	r.Unread, r.unreadRemedies = slices.Clone(r.Unread), maps.Clone(r.unreadRemedies)
	for _, reason := range reasons {
		if reason == nil {
			continue
		}
		r.Unread = append(r.Unread, reason.Error())
		if remedy := unreadRemedy(reason); remedy != "" {
			if r.unreadRemedies == nil {
				r.unreadRemedies = map[string]string{}
			}
			r.unreadRemedies[reason.Error()] = remedy
		}
	}
	return r
}

// unreadRemedy returns what to do about a reason; empty if it says that itself, or nothing is known about it.
func unreadRemedy(reason error) string {
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

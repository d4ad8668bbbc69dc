package upgrade

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/client"

	"github.com/em-infra/em-infra/internal/nodeops"
)

// lastAttempt returns the last line of the kernel's log about a failed attempt to pull the image, with its time; empty if there is none, or if the
// log cannot be read. Talos tries again until the call ends, and reports the cause only in that log (talos v1.12.4,
// internal/pkg/containers/image/image.go).
func (n Node) lastAttempt(ctx context.Context) (last string) {
	_ = nodeops.Ask(ctx, n.Talosconfig, n.Address, func(ctx context.Context, api *client.Client) error {
		stream, err := api.Dmesg(ctx, false, false)
		for err == nil {
			line, ended := stream.Recv()
			if errors.Is(ended, io.EOF) {
				return nil
			}
			if text := string(line.GetBytes()); strings.Contains(text, attemptAt(n.Image)) {
				last = text
			}
			err = ended
		}
		return err
	})
	return last
}

// causeSince returns why the last attempt to pull the image failed; empty if none has failed since an earlier look.
func (n Node) causeSince(ctx context.Context, before string) string {
	last := n.lastAttempt(ctx)
	if last == before {
		return ""
	}
	return causeIn(oneLine(last), n.Image)
}

// attemptAt is how Talos begins the error of an attempt to pull an image.
func attemptAt(image string) string { return fmt.Sprintf("failed to pull image %q: ", image) }

// causeIn returns the cause in the error of an attempt; the text itself if it is not such an error.
func causeIn(text, image string) string {
	if _, cause, found := strings.Cut(text, attemptAt(image)); found {
		return cause
	}
	return text
}

// oneLine joins the lines of a text: the error of several attempts has a line for each.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

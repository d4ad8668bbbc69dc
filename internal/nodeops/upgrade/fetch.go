package upgrade

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/api/common"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/poll"
)

// roomForImage is what EPHEMERAL must have free, in bytes: the largest installer images, those with drivers of GPUs, have 600 MiB,
// and containerd keeps an image as it was downloaded and unpacked. A volume that lacks it is about to evict pods anyway.
const roomForImage = 1200 << 20

// looksPerCause is how many intervals lie between two looks at why an attempt has failed: the kernel's log is long.
const looksPerCause = 5

// Fetch has the node pull the installer image while it still runs its pods: a version that must not come next, an image that does not exist, a
// registry that cannot be reached, a slow download and a full disk are found before the node is drained. It reports whether there is anything to
// upgrade. It asks nothing more of a node that runs the release, and waits for one that still reboots into it because a killed run has ordered that.
// Talos up to v1.12 pulls in advance into the container runtime of pods only (v1alpha1_images.go), so the order pulls the image again, into memory
// (internal/pkg/install/pull.go and services/containerd.go). A node that has the image answers at once. The error is one sentence that ends with what
// to do.
func (n Node) Fetch(ctx context.Context) (needed bool, err error) {
	n.Limits = n.Limits.withDefaults()
	_, needed, err = n.attempt(ctx, n.fetch)
	return needed, err
}

// fetch has the node pull the image, if it has room for it.
func (n Node) fetch(ctx context.Context) error {
	if err := n.hasRoom(ctx); err != nil {
		return err
	}
	before := n.lastAttempt(ctx)
	call, stop := context.WithCancel(ctx)
	defer stop()
	pulled := make(chan error, 1)
	go func() { pulled <- n.pull(call) }()
	look := time.NewTicker(looksPerCause * n.Limits.Interval)
	defer look.Stop()
	for {
		select {
		case err := <-pulled:
			if err == nil {
				return nil
			}
			return n.notFetched(ctx, err, n.causeSince(ctx, before))
		case <-look.C:
			cause := n.causeSince(ctx, before)
			if !isFinal(cause) {
				continue
			}
			stop()
			if err := <-pulled; err != nil {
				return n.notFetched(ctx, err, cause)
			}
			return nil
		}
	}
}

// hasRoom refuses a node whose EPHEMERAL is too full. Talos would try again and again to write the image.
func (n Node) hasRoom(ctx context.Context) error {
	err := nodeops.Ask(ctx, n.Talosconfig, n.Address, func(ctx context.Context, api *client.Client) error {
		mounts, err := api.Mounts(ctx)
		if err != nil {
			return err
		}
		for _, message := range mounts.GetMessages() {
			for _, mount := range message.GetStats() {
				if free := mount.GetAvailable(); mount.GetMountedOn() == constants.EphemeralMountPoint && free < roomForImage {
					return fmt.Errorf("its volume EPHEMERAL has %d MiB free, and an installer image needs up to %d MiB", free>>20, roomForImage>>20)
				}
			}
		}
		return nil
	})
	switch {
	case err == nil || errors.Is(err, nodeops.ErrTalosconfig):
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("%s is untouched: %w", n.Name, context.Cause(ctx))
	default:
		return fmt.Errorf("%s is untouched, because its image cannot be pulled now (%w): make room on its disk, or give it a larger one with diskGiB, then run up again", n.Name, err)
	}
}

// pull asks the node for the image once. Talos itself tries again until the call ends.
func (n Node) pull(ctx context.Context) error {
	api, err := nodeops.Connect(ctx, n.Talosconfig, n.Address)
	if err != nil {
		return err
	}
	defer api.Close()
	ctx, cancel := context.WithTimeout(client.WithNode(ctx, n.Address), n.Limits.Pull)
	defer cancel()
	err = api.ImagePull(ctx, common.ContainerdNamespace_NS_SYSTEM, n.Image)
	if status.Code(err) == codes.Unimplemented {
		return nil // the order pulls it
	}
	return err
}

// notFetched returns why the node has not got the image, and what to do. The cause is that of its last attempt; empty if unknown.
func (n Node) notFetched(ctx context.Context, err error, cause string) error {
	text := oneLine(status.Convert(err).Message())
	why, remedy := "", ""
	switch {
	case errors.Is(err, nodeops.ErrTalosconfig):
		return err
	case ctx.Err() != nil:
		return fmt.Errorf("%s is untouched: %w", n.Name, context.Cause(ctx))
	case status.Code(err) == codes.NotFound:
		why = "the installer image does not exist (" + causeIn(text, n.Image) + ")"
		remedy = "set talos.version to a release that the Image Factory has with these extensions"
	case strings.Contains(cause, noSpace):
		why = "the installer image does not fit on its disk (" + cause + ")"
		remedy = "make room on its disk, or give it a larger one with diskGiB"
	case isFinal(cause):
		why = "the registry refuses the installer image (" + cause + ")"
		remedy = "see that the Image Factory has this version with these extensions"
	case status.Code(err) == codes.DeadlineExceeded:
		why = fmt.Sprintf("it has not pulled the installer image after %s%s", poll.InWords(n.Limits.Pull), inBrackets(cause))
		remedy = "see that it reaches the Image Factory, or give it a registry mirror in talos.patches"
	default:
		why = "it does not pull the installer image (" + text + ")"
		remedy = "mend that"
	}
	return fmt.Errorf("%s is untouched, because %s: %s, then run up again", n.Name, why, remedy)
}

// noSpace is how Linux calls a full file system.
const noSpace = "no space left on device"

// finals are parts of causes that another attempt does not change: a full disk, and answers of registries. Talos tries again all the
// same.
var finals = []string{noSpace, "400 Bad Request", "401 Unauthorized", "403 Forbidden"}

func isFinal(cause string) bool {
	return slices.ContainsFunc(finals, func(part string) bool { return strings.Contains(cause, part) })
}

// inBrackets returns a cause to be put behind a sentence; empty if there is none.
func inBrackets(cause string) string {
	if cause == "" {
		return ""
	}
	return " (" + cause + ")"
}

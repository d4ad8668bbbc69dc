package nodeops

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	machineapi "github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"google.golang.org/grpc/status"

	"github.com/em-infra/em-infra/internal/nodeops/rolling"
	"github.com/em-infra/em-infra/internal/poll"
)

// snapshotTimeout bounds the transfer of a snapshot. etcd allows 8 GiB at most, and recommends 2 GiB (etcd v3.6, dev-guide/limit).
const snapshotTimeout = 10 * time.Minute

// EtcdSnapshot is a snapshot of etcd that can be taken.
type EtcdSnapshot struct {
	// Talos is the release that the node with the member runs, e.g. v1.12.4.
	Talos string
	// Kubernetes is the version of that node's API server, e.g. v1.35.4; empty if the tag of its image is no version.
	Kubernetes string
	// Take writes the snapshot.
	Take func(io.Writer) error
}

// EtcdSnapshot returns a snapshot of an etcd member that works. It prefers a follower, because the leader has other work. It returns nil if etcd runs
// on no node. The error is what prevents a snapshot.
func (h Health) EtcdSnapshot(ctx context.Context) (*EtcdSnapshot, error) {
	members, err := h.etcdMembers(ctx, rolling.Node{})
	if err != nil || len(members) == 0 {
		return nil, err
	}
	source, err := h.snapshotSource(ctx)
	if err != nil {
		return nil, err
	}
	snapshot := &EtcdSnapshot{Take: func(to io.Writer) error {
		ctx, cancel := context.WithTimeout(ctx, snapshotTimeout)
		defer cancel()
		if err := h.copySnapshot(ctx, source, to); err != nil {
			return fmt.Errorf("etcd on %s gives no snapshot: %w", source.Name, err)
		}
		return nil
	}}
	snapshot.Talos, snapshot.Kubernetes, err = h.versionsOn(ctx, source)
	return snapshot, err
}

// versionsOn returns the release of Talos and the version of the API server that run on a control plane.
func (h Health) versionsOn(ctx context.Context, node rolling.Node) (talos, kubernetes string, err error) {
	err = h.ask(ctx, node.Address.String(), func(ctx context.Context, api *client.Client) error {
		release, err := readRelease(ctx, api)
		if err != nil {
			return err
		}
		var seen Observation
		err = seen.readConfiguration(ctx, api.COSI)
		talos, kubernetes = release.Version, seen.APIServer
		return err
	})
	if err != nil {
		return "", "", fmt.Errorf("%s: %w", node.Name, err)
	}
	return talos, kubernetes, nil
}

// SnapshotWait is how long to wait for etcd on machines that may just have been switched on, as after a power cut.
type SnapshotWait struct {
	// Works is the longest wait for a member that gives a snapshot.
	Works time.Duration
	// Starts is the longest wait for any etcd: a control plane that is off or was reset may be about to come back with one. If the only control plane
	// has an etcd that does not start in this time, it counts as no etcd, because a change may be what it needs to start. Default: 0, one look.
	Starts time.Duration
}

// AwaitEtcdSnapshot is [Health.EtcdSnapshot] with a wait. A member counts when it sends the beginning of a snapshot. The error is what prevented a
// snapshot last, or why ctx has ended. If ctx ends during the wait for any etcd, that is an error too, because it is not known then whether there is
// one.
func (h Health) AwaitEtcdSnapshot(ctx context.Context, wait SnapshotWait) (snapshot *EtcdSnapshot, err error) {
	limited, cancel := context.WithTimeout(ctx, wait.Works)
	defer cancel()
	began, waits := time.Now(), false
	_ = poll.Until(limited, pollInterval, func(context.Context) (bool, error) { // the result of the last look is returned
		if snapshot, err = h.EtcdSnapshot(ctx); err == nil && snapshot != nil {
			err = begins(snapshot.Take)
		}
		if err != nil && !waits && limited.Err() == nil {
			waits = true
			h.say("waits for etcd (%v), %.0f min at most", err, wait.Works.Minutes())
		}
		if time.Since(began) >= wait.Starts && h.isOnlyOneThatStarts(err) {
			err = nil
		}
		return err == nil && (snapshot != nil || time.Since(began) >= wait.Starts), nil
	})
	if ctx.Err() != nil && (err != nil || snapshot == nil) {
		err = context.Cause(ctx)
	}
	return snapshot, err
}

// isOnlyOneThatStarts reports whether a snapshot is prevented by the etcd of the only control plane, which does not run yet.
func (h Health) isOnlyOneThatStarts(err error) bool {
	starts := new(startsError)
	return errors.As(err, &starts) && len(h.controlPlanes(rolling.Node{})) == 1
}

// begins returns why a snapshot cannot be taken; nil as soon as it begins.
func begins(take func(io.Writer) error) error {
	if err := take(beginning{}); !errors.Is(err, errBegins) {
		return err
	}
	return nil
}

// beginning is a writer that ends a snapshot at its first bytes.
type beginning struct{}

var errBegins = errors.New("the snapshot begins")

func (beginning) Write([]byte) (int, error) { return 0, errBegins }

// snapshotSource returns the first follower that works, else the leader.
func (h Health) snapshotSource(ctx context.Context) (rolling.Node, error) {
	var leader *rolling.Node
	var problems []error
	for _, node := range h.controlPlanes(rolling.Node{}) {
		leads := false
		err := h.askEtcd(ctx, node.Address.String(), func(ctx context.Context, api *client.Client) (err error) {
			if err := votes(ctx, api); err != nil {
				return err
			}
			leads, err = isLeader(ctx, api)
			return err
		})
		switch {
		case err != nil:
			problems = append(problems, fmt.Errorf("%s: %w", node.Name, err))
		case leads:
			leader = &node
		default:
			return node, nil
		}
	}
	if leader != nil {
		return *leader, nil
	}
	return rolling.Node{}, errors.Join(problems...)
}

// isLeader reports whether the node's own etcd member leads.
func isLeader(ctx context.Context, api *client.Client) (bool, error) {
	answer, err := api.EtcdStatus(ctx)
	if err != nil {
		return false, err
	}
	for _, message := range answer.GetMessages() {
		member := message.GetMemberStatus()
		if member.GetLeader() == member.GetMemberId() {
			return true, nil
		}
	}
	return false, nil
}

func (h Health) copySnapshot(ctx context.Context, node rolling.Node, to io.Writer) error {
	return unlessStalled(ctx, stallLimit, to, func(ctx context.Context, to io.Writer) error { return h.streamSnapshot(ctx, node, to) })
}

func (h Health) streamSnapshot(ctx context.Context, node rolling.Node, to io.Writer) error {
	address := node.Address.String()
	api, err := Connect(ctx, h.Talosconfig, address)
	if err != nil {
		return err
	}
	defer api.Close() //nolint:errcheck // the snapshot is there
	stream, err := api.EtcdSnapshot(client.WithNode(ctx, address), &machineapi.EtcdSnapshotRequest{})
	if err != nil {
		return errors.New(answerOf(err))
	}
	defer stream.Close() //nolint:errcheck // the snapshot is there
	_, err = io.Copy(to, stream)
	if _, answered := status.FromError(err); err != nil && answered {
		return errors.New(answerOf(err))
	}
	return err
}

package kubernetesupgrade

import (
	"context"
	"errors"
	"fmt"

	"github.com/siderolabs/talos/pkg/machinery/api/common"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/em-infra/em-infra/internal/nodeops"
)

// neededImage is an image that a node needs, and the part of its container runtime that gets it.
type neededImage struct {
	ref       string
	namespace common.ContainerdNamespace
}

// pull pulls all images on all nodes before anything is changed: a version that does not exist, and a registry that cannot be
// reached, are found while everything still runs.
func (u Upgrade) pull(ctx context.Context, seen *survey) error {
	problems := make([]error, len(seen.members))
	done := make(chan struct{})
	for i, m := range seen.members {
		go func() {
			defer func() { done <- struct{}{} }()
			problems[i] = u.unlessReplaced(ctx, m, u.pullOn(ctx, m))
		}()
	}
	for range seen.members {
		<-done
	}
	return errors.Join(problems...)
}

func (u Upgrade) pullOn(ctx context.Context, m member) error {
	for _, image := range u.needs(m) {
		slow := false
		err := nodeops.AskFor(ctx, u.Limits.Pull, u.Talosconfig, m.Address.String(), func(ctx context.Context, api *client.Client) error {
			err := api.ImagePull(ctx, image.namespace, image.ref)
			switch status.Code(err) {
			case codes.Unimplemented:
				return nil // the node pulls it when it needs it
			case codes.DeadlineExceeded:
				slow = true
			default:
			}
			return err
		})
		switch {
		case slow:
			return fmt.Errorf("%s has not pulled %s after %s: see how it reaches the registry, then run up again; what it has pulled stays there", m.Name, image.ref, u.Limits.Pull)
		case err != nil:
			return fmt.Errorf("%s cannot pull %s (%w): see that this version exists and that the node reaches the registry, then run up again", m.Name, image.ref, err)
		}
	}
	return nil
}

// needs returns the images that a node does not run yet.
func (u Upgrade) needs(m member) []neededImage {
	var needed []neededImage
	for _, c := range components {
		if was, enabled := m.running[c.id]; enabled && was.Compare(u.To) != 0 {
			needed = append(needed, neededImage{retagged(m.images[c.id], u.To), common.ContainerdNamespace_NS_CRI})
		}
	}
	if m.kubelet.Compare(u.To) != 0 {
		needed = append(needed, neededImage{retagged(m.images[k8s.KubeletID], u.To), common.ContainerdNamespace_NS_SYSTEM})
	}
	return needed
}

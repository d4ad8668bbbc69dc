package talos

import (
	"context"
	"sync"

	"github.com/siderolabs/talos/pkg/machinery/api/common"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// images are the images that a node has pulled in this boot. A real node keeps them on its disk; here a reboot forgets them,
// and the next pull takes its time again.
type images struct {
	mu     sync.Mutex
	pulled map[string]bool
}

// pull takes the time of a pull, unless the node has the image.
func (i *images) pull(ctx context.Context, s *system, ref string) error {
	i.mu.Lock()
	defer i.mu.Unlock()

	if i.pulled[ref] {
		return nil
	}

	if err := s.vm.step(ctx, StepImage, s.fleet.config.Durations.Image); err != nil {
		return err
	}

	if i.pulled == nil {
		i.pulled = map[string]bool{}
	}

	i.pulled[ref] = true

	return nil
}

// ImagePull pulls an image in advance (v1alpha1_images.go).
func (m *machinedServer) ImagePull(ctx context.Context, in *machine.ImagePullRequest) (*machine.ImagePullResponse, error) {
	switch in.GetNamespace() {
	case common.ContainerdNamespace_NS_CRI, common.ContainerdNamespace_NS_SYSTEM:
	default:
		return nil, status.Errorf(codes.InvalidArgument, "invalid namespace %s", in.GetNamespace())
	}

	if err := m.system.images.pull(ctx, m.system, in.GetReference()); err != nil {
		return nil, err
	}

	return &machine.ImagePullResponse{Messages: []*machine.ImagePull{{}}}, nil
}

package talos

import (
	"context"
	"sync"

	"github.com/siderolabs/talos/pkg/machinery/api/common"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// images are the images that one of the node's two container runtimes has pulled in this boot. The runtime of pods keeps them on
// EPHEMERAL; here a reboot forgets them, so that the next pull takes its time again. The runtime of the system, which runs
// installers, keeps them in memory (services/containerd.go: its root is below /system, a tmpfs), so no boot has the images of
// the one before.
type images struct {
	mu     sync.Mutex
	pulled map[string]bool
}

// pull takes the time of a pull, unless the runtime has the image.
func (i *images) pull(ctx context.Context, s *system, ref string) error {
	i.mu.Lock()
	defer i.mu.Unlock()

	if i.pulled[ref] {
		return nil
	}

	if err := s.download(ctx, ref); err != nil {
		return err
	}

	if i.pulled == nil {
		i.pulled = map[string]bool{}
	}

	i.pulled[ref] = true

	return nil
}

// ImagePull pulls an image in advance, into the container runtime of pods, regardless of the namespace (v1alpha1_images.go). So
// an upgrade does not find the image of an installer and pulls it again, into the other runtime (internal/pkg/install/pull.go).
func (m *machinedServer) ImagePull(ctx context.Context, in *machine.ImagePullRequest) (*machine.ImagePullResponse, error) {
	switch in.GetNamespace() {
	case common.ContainerdNamespace_NS_CRI, common.ContainerdNamespace_NS_SYSTEM:
	default:
		return nil, status.Errorf(codes.InvalidArgument, "invalid namespace %s", in.GetNamespace())
	}

	if isInstaller(in.GetReference()) {
		if _, err := m.system.fleet.config.Installer(in.GetReference()); err != nil {
			return nil, status.Errorf(codes.NotFound, "error pulling image: %s", unresolved(in.GetReference(), err))
		}
	}

	if err := m.system.podImages.pull(ctx, m.system, in.GetReference()); err != nil {
		return nil, err
	}

	return &machine.ImagePullResponse{Messages: []*machine.ImagePull{{}}}, nil
}

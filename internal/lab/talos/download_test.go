package talos_test

import (
	"context"
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/api/common"
	"github.com/siderolabs/talos/pkg/machinery/client"
	"github.com/siderolabs/talos/pkg/machinery/constants"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/talos"
)

// pulls asks a node for an image in advance.
func (c *cluster) pulls(ctx context.Context, vmid int, image string) error {
	c.lab.t.Helper()

	return c.admin(vmid).ImagePull(ctx, common.ContainerdNamespace_NS_SYSTEM, image)
}

// pullsUntil pulls an image until its fault has occurred that often. Then it ends the call and returns the error of the call.
func (l *lab) pullsUntil(c *cluster, occurred int) error {
	l.t.Helper()

	ctx, cancel := context.WithCancel(l.t.Context())
	defer cancel()

	ended := make(chan error, 1)
	go func() { ended <- c.pulls(ctx, 101, newerImage) }()
	l.eventually(func() bool { return l.faults.List()[0].Occurred >= occurred }, "not tried again")
	cancel()

	return <-ended
}

// kernelLog returns what the kernel's log has, without the times.
func (c *cluster) kernelLog(vmid int) []string {
	c.lab.t.Helper()

	stream, err := c.admin(vmid).Dmesg(c.lab.t.Context(), false, false)
	require.NoError(c.lab.t, err)

	var lines []string

	for {
		line, err := stream.Recv()
		if err != nil {
			return lines
		}

		require.Regexp(c.lab.t, `^user: warning: \[[-0-9T:.]+Z\]: `, string(line.GetBytes()))
		lines = append(lines, string(line.GetBytes())[len("user: warning: "):])
	}
}

// TestAnInstallerIsPulledTwice: what was pulled in advance is in the container runtime of pods, and an upgrade uses the other one.
func TestAnInstallerIsPulledTwice(t *testing.T) {
	t.Parallel()

	pulls := &countedPace{counted: talos.AssumedDurations().Pull}
	l := newLab(t, withExtensions, func(c *talos.Config) { c.Pace = pulls })
	c := l.controlPlaneUp("k3s-dev")
	c.waitHealthy(101, "etcd")

	for range 2 {
		require.NoError(t, c.pulls(t.Context(), 101, newerImage))
	}

	before := pulls.count.Load()
	boot := c.bootID(101)
	c.upgrade(101)
	require.Equal(t, before+1, pulls.count.Load())
	c.waitNewBoot(101, boot)
}

// TestAnInstallerThatDoesNotExist is an error at once.
func TestAnInstallerThatDoesNotExist(t *testing.T) {
	t.Parallel()

	const image = "ghcr.io/siderolabs/installer:v1.99.0"

	l := newLab(t, withExtensions)
	c := l.controlPlaneUp("k3s-dev")
	err := c.pulls(t.Context(), 101, image)
	require.Equal(t, codes.NotFound, status.Code(err))
	require.Equal(t, "error pulling image: 1 error(s) occurred:\n\tfailed to pull image \""+image+"\": failed to resolve image: manifest unknown",
		status.Convert(err).Message())
}

// TestFaultsOfADownload: Talos tries again until the call ends, only the kernel's log has the cause, and when it is gone the same
// call succeeds.
func TestFaultsOfADownload(t *testing.T) {
	t.Parallel()

	for name, cause := range map[string]string{
		talos.FaultImageRefused:    "400 Bad Request",
		talos.FaultRegistryDown:    "connect: connection refused",
		talos.FaultPullWithoutRoom: "no space left on device",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			l := newLab(t, withExtensions)
			c := l.controlPlaneUp("k3s-dev")
			require.NoError(t, l.faults.Set(fault.Fault{Name: name}))

			require.Equal(t, codes.Canceled, status.Code(l.pullsUntil(c, 2)))

			lines := c.kernelLog(101)
			require.Len(t, lines, 1, "the same cause is told once")
			require.Contains(t, lines[0], `: [talos] retrying error: failed to pull image "`+newerImage+`": failed to `)
			require.Contains(t, lines[0], cause)

			pulled := make(chan error, 1)
			go func() { pulled <- c.pulls(t.Context(), 101, newerImage) }()
			l.eventually(func() bool { return len(c.kernelLog(101)) == 2 }, "no second call")

			_, err := l.faults.Clear("")
			require.NoError(t, err)
			require.NoError(t, <-pulled)
		})
	}
}

// TestTheKernelLogIsFollowed: a stream has the existing messages and then the new ones.
func TestTheKernelLogIsFollowed(t *testing.T) {
	t.Parallel()

	l := newLab(t, withExtensions)
	c := l.controlPlaneUp("k3s-dev")
	require.NoError(t, l.faults.Set(fault.Fault{Name: talos.FaultRegistryDown}))

	require.Equal(t, codes.Canceled, status.Code(l.pullsUntil(c, 2)))

	stream, err := c.admin(101).Dmesg(client.WithNode(t.Context(), l.address(101).String()), true, false)
	require.NoError(t, err)

	_, err = stream.Recv()
	require.NoError(t, err)

	more, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.pulls(more, 101, newerImage) }()

	line, err := stream.Recv()
	require.NoError(t, err)
	require.Contains(t, string(line.GetBytes()), "connection refused")
	end()
	require.Equal(t, codes.Canceled, status.Code(<-ended))
}

// TestFaultEphemeralFull leaves little on that volume and on no other.
func TestFaultEphemeralFull(t *testing.T) {
	t.Parallel()

	l := newLab(t)
	c := l.controlPlaneUp("k3s-dev")
	free := func() (ephemeral, others uint64) {
		mounts, err := c.admin(101).Mounts(t.Context())
		require.NoError(t, err)

		for _, stat := range mounts.GetMessages()[0].GetStats() {
			if stat.GetMountedOn() == constants.EphemeralMountPoint {
				ephemeral = stat.GetAvailable()
			} else {
				others += stat.GetAvailable()
			}
		}

		return ephemeral, others
	}

	before, others := free()
	require.NoError(t, l.faults.Set(fault.Fault{Name: talos.FaultEphemeralFull}))

	full, same := free()
	require.Greater(t, before, full)
	require.EqualValues(t, 300<<20, full)
	require.Equal(t, others, same)
}

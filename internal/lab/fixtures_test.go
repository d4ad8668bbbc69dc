package lab_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/lab"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/loopbacktest"
)

const (
	// roleVariable makes the test binary a lab's process: "serve" is a real one, "mute" one that ends without a message, "slow" one that sends none
	// for a long time.
	roleVariable = "EM_INFRA_TEST_ROLE"
	dirVariable  = "EM_INFRA_TEST_DIR"
)

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "serve":
		os.Exit(serveAsProcess())
	case "mute":
		os.Exit(1)
	case "slow":
		time.Sleep(time.Minute)
	default:
		os.Exit(m.Run())
	}
}

func serveAsProcess() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := serve(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func serve(ctx context.Context) error {
	inv, err := inventory.Parse("inventory", []byte(clusterYAML), []byte(nodesYAML))
	if err != nil {
		return err
	}
	site, err := lab.SiteOf(lab.Stacks{Platforms: []*inventory.Inventory{inv}})
	if err != nil {
		return err
	}
	o := optionsOf(os.Getenv(dirVariable), site)
	o.Lifeline = os.Getenv(lab.LifelineVariable)
	return lab.Serve(ctx, o)
}

// options returns the options of a lab that is registered like the lab of a user: the labs of other tests do not take its ports
// while it is stopped, and it does not take theirs.
func options(t *testing.T, dir string, inv *inventory.Inventory) lab.Options {
	t.Helper()
	return optionsOf(dir, lab.SiteOfCluster(t, inv))
}

func optionsOf(dir string, site lab.Site) lab.Options {
	noDelay := 0.0
	return lab.Options{
		Dir: dir, Stack: "k3s-dev", Site: site, TimeScale: &noDelay, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Registry: lab.DefaultRegistry(),
	}
}

// The third byte of the network is unlikely to be used by another lab on this machine.
const (
	clusterYAML = `apiVersion: em-infra/v1alpha1
kind: Cluster
name: k3s-dev
talos: {contract: v1.12}
kubernetes: {endpoint: {vip: 192.168.217.10}}
network: {cidr: 192.168.217.0/24, gateway: 192.168.217.1, bridge: vmbr0}
proxmox: {host: vmhost, isoStorage: local, diskStorage: tank, template: {vmid: 9000}}
`
	nodesYAML = `apiVersion: em-infra/v1alpha1
kind: Nodes
nodes:
  - {name: k3s-dev-control-1, role: control-plane, vmid: 101, address: 192.168.217.11}
  - {name: k3s-dev-worker-1, role: worker, vmid: 102, address: 192.168.217.21}
`
)

func parse(t *testing.T, cluster, nodes string) *inventory.Inventory {
	t.Helper()
	inv, err := inventory.Parse("inventory", []byte(cluster), []byte(nodes))
	require.NoError(t, err)
	return inv
}

// labDir returns the folder of a lab in its own project.
func labDir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), ".lab", "k3s-dev")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	return dir
}

// process returns a command that runs the test binary in a role.
func process(t *testing.T, role, dir string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	command := exec.Command(self)
	command.Env = append(os.Environ(), roleVariable+"="+role, dirVariable+"="+dir)
	return command
}

// start starts a lab in its own process, which is stopped when the test ends. It does not choose the ports itself, because
// labs of several projects could choose the same ones at the same time.
func start(t *testing.T, dir string) {
	t.Helper()
	if _, err := lab.ReadDescription(dir); errors.Is(err, lab.ErrNoLab) {
		require.NoError(t, described(t).Write(dir))
	}
	require.NoError(t, lab.Start(t.Context(), dir, process(t, "serve", dir)))
	t.Cleanup(func() {
		_, err := lab.Stop(context.Background(), dir)
		require.NoError(t, err)
	})
}

func running(t *testing.T, dir string) int {
	t.Helper()
	pid, err := lab.Running(dir)
	require.NoError(t, err)
	return pid
}

// freePort returns a free loopback address.
func freePort(t *testing.T) netip.AddrPort {
	t.Helper()
	return netip.MustParseAddrPort(loopbacktest.Refused(t))
}

// described returns a description as a lab chooses it.
func described(t *testing.T) lab.Description {
	t.Helper()
	return lab.Description{
		Stack: "k3s-dev", Host: "vmhost", Network: loopbacktest.Network(t), Proxmox: freePort(t), Factory: freePort(t),
		Token: "em-infra@pve!rehearsal=madeup", TimeScale: 0.25, Release: schema.Release91, Seed: "lucky",
	}
}

// serveOnce runs a lab until it listens.
func serveOnce(t *testing.T, o lab.Options) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	o.Ready = func(lab.Description) { stop() }
	require.NoError(t, lab.Serve(ctx, o))
}

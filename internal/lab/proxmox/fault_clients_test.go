package proxmox_test

import (
	"context"
	"strings"
	"testing"
	"time"

	client "github.com/luthermonson/go-proxmox"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/fault"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/poll/polltest"
)

// clientLab is a lab with a template 9000, a VM 101 and a VM 102 with a GPU, used by an independent client.
type clientLab struct {
	*lab
	client *client.Client
	node   *client.Node
	faults *fault.Set
}

func newClientLab(t *testing.T, change func(*proxmox.Config)) *clientLab {
	t.Helper()

	l := newLab(t, change)
	l.template()
	l.must("POST", "/nodes/vmhost/qemu", values("vmid=101"))
	l.ok("POST", "/cluster/mapping/pci",
		values("id=gpu map=id=10de:2204,node=vmhost,path=0000:01:00.0,subsystem-id=1458:403b,iommugroup=12"), nil)
	l.must("POST", "/nodes/vmhost/qemu", values("vmid=102 machine=q35 hostpci0=mapping=gpu,pcie=1"))

	id, secret, _ := strings.Cut(l.token, "=")
	c := client.NewClient(l.base+"/api2/json", client.WithHTTPClient(l.http), client.WithAPIToken(id, secret))

	node, err := c.Node(t.Context(), "vmhost")
	require.NoError(t, err)

	return &clientLab{lab: l, client: c, node: node}
}

// vm returns a VM without reading it first.
func (l *clientLab) vm(vmid int) *client.VirtualMachine {
	var vm client.VirtualMachine
	vm.New(l.client, "vmhost", vmid)

	return &vm
}

// finish returns the result of a call, or of its task.
func (l *clientLab) finish(ctx context.Context, task *client.Task, err error) string {
	if err != nil {
		return err.Error()
	}

	if err := task.Wait(ctx, time.Millisecond, eventually); err != nil {
		return err.Error()
	}

	return task.ExitStatus
}

// The operations of the tests. Each returns the client's error.
var clientCalls = map[string]func(context.Context, *clientLab) string{
	"configure": func(ctx context.Context, l *clientLab) string {
		return errorText(l.vm(101).ConfigSync(ctx, client.VirtualMachineOption{Name: "cores", Value: 2}))
	},
	"add a disk": func(ctx context.Context, l *clientLab) string {
		return errorText(l.vm(101).ConfigSync(ctx, client.VirtualMachineOption{Name: "scsi1", Value: "tank:1"}))
	},
	"move a disk": func(ctx context.Context, l *clientLab) string {
		added := l.vm(101).ConfigSync(ctx, client.VirtualMachineOption{Name: "scsi0", Value: "tank:1"})
		if added != nil {
			return added.Error()
		}

		volumes := l.server.Volumes()
		task, err := l.vm(101).MoveDisk(ctx, "scsi0", &client.VirtualMachineMoveDiskOptions{Storage: "thin", Delete: true})
		answer := l.finish(ctx, task, err)
		require.Equal(l.t, volumes, l.server.Volumes(), "what was copied is freed, and the source stays")
		require.Contains(l.t, l.config("101")["scsi0"], "tank:vm-101-disk-")

		return answer
	},
	"clone": func(ctx context.Context, l *clientLab) string {
		_, task, err := l.vm(9000).Clone(ctx, &client.VirtualMachineCloneOptions{NewID: 103, Full: true})
		return l.finish(ctx, task, err)
	},
	"clone and stop": func(ctx context.Context, l *clientLab) string {
		_, task, err := l.vm(9000).Clone(ctx, &client.VirtualMachineCloneOptions{NewID: 103, Full: true})
		if err == nil {
			polltest.Until(l.t, func() bool { return l.faults.List()[0].Occurred > 0 }) // it hangs
			err = task.Stop(ctx)
		}

		return l.finish(ctx, task, err)
	},
	"create": func(ctx context.Context, l *clientLab) string {
		task, err := l.node.NewVirtualMachine(ctx, 103)
		return l.finish(ctx, task, err)
	},
	"start": func(ctx context.Context, l *clientLab) string {
		task, err := l.vm(101).Start(ctx)
		return l.finish(ctx, task, err)
	},
	"start the GPU": func(ctx context.Context, l *clientLab) string {
		task, err := l.vm(102).Start(ctx)
		return l.finish(ctx, task, err)
	},
	"start and shut down": func(ctx context.Context, l *clientLab) string {
		task, err := l.vm(101).Start(ctx)
		if exit := l.finish(ctx, task, err); exit != "OK" {
			return exit
		}

		task, err = l.vm(101).Shutdown(ctx)

		return l.finish(ctx, task, err)
	},
	"read": func(ctx context.Context, l *clientLab) string { return errorText(l.vm(101).Ping(ctx)) },
	"download": func(ctx context.Context, l *clientLab) string {
		storage, err := l.node.Storage(ctx, "local")
		if err != nil {
			return err.Error()
		}

		task, err := storage.DownloadURL(ctx, "iso", "a.iso", "http://127.0.0.1:1/")

		return l.finish(ctx, task, err)
	},
	"add a storage": func(ctx context.Context, l *clientLab) string {
		return errorText(l.client.Post(ctx, "/storage", map[string]string{"storage": "share", "type": "nfs", "server": "10.0.0.5", "export": "/tank"}, nil))
	},
	"reload": func(ctx context.Context, l *clientLab) string {
		task, err := l.node.NetworkReload(ctx)
		return l.finish(ctx, task, err)
	},
}

func errorText(err error) string {
	if err == nil {
		return "OK"
	}

	return err.Error()
}

// TestFaults sets each fault of the catalogue and checks the error of an independent client.
func TestFaults(t *testing.T) {
	t.Parallel()

	tests := map[string]struct{ call, expected string }{
		"config-lock-timeout":  {"configure", "500 can't lock file '/var/lock/qemu-server/lock-101.conf' - got timeout"},
		"storage-lock-timeout": {"clone", "clone failed: can't lock file '/var/lock/pve-manager/pve-storage-tank' - got timeout"},
		"storage-full":         {"add a disk", "500 zfs error: cannot create 'tank/vm-101-disk-0': out of space"},
		"clone-fails":          {"clone", "clone failed: block job (mirror) error: drive-scsi0: 'mirror' has been cancelled"},
		"move-disk-fails":      {"move a disk", "storage migration failed: copy failed: command '/usr/bin/qemu-img convert -p -n -f raw -O raw' failed: exit code 1"},
		"clone-hangs":          {"clone and stop", "received interrupt"},
		"start-fails":          {"start", "start failed: QEMU exited with code 1"},
		"disk-gone":            {"start", "timeout: no zvol device link for 'vm-101-disk-1' found after 300 sec."},
		"gpu-in-use":           {"start the GPU", "PCI device '0000:01:00.0' already in use by VMID '999'"},
		"shutdown-ignored":     {"start and shut down", "VM quit/powerdown failed - got timeout"},
		"template-missing":     {"clone", "500 Configuration file 'nodes/vmhost/qemu-server/9000.conf' does not exist"},
		"vmid-taken":           {"create", "500 unable to create VM 103 - VM 103 already exists on node 'vmhost'"},
		"no-worker":            {"start", "500 got no worker upid - start worker failed"},
		"task-lost":            {"start", `bad request: 400 Parameter verification failed. - {"upid":"no such task"}`},
		"storage-inactive":     {"add a storage", "500 create storage failed: mount error: mount.nfs: Connection timed out"},
		"unauthorized":         {"read", "not authorized to access endpoint"},
		"forbidden":            {"read", "not authorized to access endpoint"},
		"unreachable":          {"read", "unexpected end of JSON input"}, // a 596 has no body
		"answer-lost":          {"configure", "EOF"},
		"host-reboots":         {"configure", "EOF"}, // a GET is repeated
		"download-fails":       {"download", "download failed: command '/usr/bin/wget' failed: exit code 4"},
		"slow-reload":          {"reload", "OK"},
		"reload-fails":         {"reload", "command 'ifreload -a' failed: exit code 1"},
		"lock-lingers":         {"clone", "OK"},
		"status-lags":          {"start", "OK"},
	}

	for _, kind := range proxmox.FaultKinds() {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()

			test, ok := tests[kind.Name]
			require.True(t, ok, "every fault is tested")

			var set *fault.Set

			l := newClientLab(t, func(c *proxmox.Config) { set = withFaults(t, c) })
			l.faults = set
			before := l.vmids()

			require.NoError(t, set.Set(fault.Fault{Name: kind.Name, Times: 1}))

			answer := clientCalls[test.call](t.Context(), l)
			require.Contains(t, answer, test.expected)
			require.Equal(t, 1, set.List()[0].Occurred)

			if answer != "OK" && test.expected != "EOF" {
				require.Equal(t, before, l.vmids(), "what failed left nothing")
			}
		})
	}
}

// TestFaultsOfCallsOnTheWire checks the status lines, which a client shows only in part.
func TestFaultsOfCallsOnTheWire(t *testing.T) {
	t.Parallel()

	const config = "/nodes/vmhost/qemu/101/config"

	for name, status := range map[string]string{
		"unauthorized": "401 Authentication failed!",
		"forbidden":    "403 Permission check failed (/vms/101, VM.Audit)",
		"unreachable":  "596 Connection timed out",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			l := newLab(t, func(c *proxmox.Config) { withFaults(t, c, fault.Fault{Name: name}) })
			require.Equal(t, status, l.do("GET", config, nil).Status)
		})
	}
}

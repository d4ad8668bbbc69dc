package machineconfig_test

import (
	"crypto/sha256"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/cosi-project/runtime/pkg/safe"
	"github.com/siderolabs/talos/pkg/machinery/client"
	clientconfig "github.com/siderolabs/talos/pkg/machinery/client/config"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/block"
	talosrole "github.com/siderolabs/talos/pkg/machinery/role"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/talos"
	"github.com/em-infra/em-infra/internal/lab/talos/talostest"
	"github.com/em-infra/em-infra/internal/machineconfig"
)

func TestMain(m *testing.M) { talostest.Main(m) }

// TestTalosFindsItsDisks checks that Talos is installed on scsi0, which the firmware boots, and that each volume lies on its disk, regardless of what
// the kernel calls the disks, and of whether each disk has its own controller or all share one.
func TestTalosFindsItsDisks(t *testing.T) {
	t.Parallel()

	shuffled := 0
	for seed := range 4 {
		for _, controller := range []talos.SCSIController{talos.SCSIVirtIOSingle, talos.SCSIVirtIO} {
			t.Run(fmt.Sprintf("%s %d", controller, seed), func(t *testing.T) {
				api := installed(t, controller, seed)

				system, err := safe.StateGetByID[*block.SystemDisk](t.Context(), api.COSI, block.SystemDiskID)
				require.NoError(t, err)
				require.True(t, strings.HasSuffix(busPath(t, api, system.TypedSpec().DevPath), ":0:0:0"))
				if system.TypedSpec().DevPath != "/dev/sda" {
					shuffled++
				}
				for name, path := range map[string]string{"u-models": ":0:0:1", "u-scratch": ":0:0:2"} {
					volume, err := safe.StateGetByID[*block.VolumeStatus](t.Context(), api.COSI, name)
					require.NoError(t, err)
					require.Equal(t, block.VolumePhaseReady, volume.TypedSpec().Phase, volume.TypedSpec().ErrorMessage)
					require.True(t, strings.HasSuffix(busPath(t, api, volume.TypedSpec().ParentLocation), path))
				}
			})
		}
	}
	require.Positive(t, shuffled, "the seeds leave /dev/sda to scsi0 each time: take others")
}

func busPath(t *testing.T, api *client.Client, device string) string {
	t.Helper()
	disk, err := safe.StateGetByID[*block.Disk](t.Context(), api.COSI, strings.TrimPrefix(device, "/dev/"))
	require.NoError(t, err)
	return disk.TypedSpec().BusPath
}

// installed returns a control plane with two data disks, brought up with the configuration that the program makes.
func installed(t *testing.T, controller talos.SCSIController, seed int) *client.Client {
	t.Helper()
	fleet, err := talos.NewFleet(talos.Config{StateDir: t.TempDir(), Seed: sha256.Sum256([]byte{byte(seed)})})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, fleet.Close()) })

	address := talostest.FreeAddress(t, 11)
	guest := talos.Hardware{
		VMID: 101, CPUs: 4, MemoryMiB: 4096, SCSI: controller,
		ISO: "local:iso/talos-v1.12.4-nocloud-amd64.iso", ISODrive: "ide0", BootOrder: []string{"scsi0", "ide0"},
		NICs:      []talos.NIC{{MAC: net.HardwareAddr{0xbc, 0x24, 0x11, 0, 0, 1}}},
		CloudInit: talos.CloudInit{Addresses: []netip.Prefix{netip.PrefixFrom(address, 24)}, Hostname: "control-1"},
	}
	for slot := range 3 {
		guest.Disks = append(guest.Disks, talos.Disk{ID: fmt.Sprintf("tank:vm-101-disk-%d", slot), Slot: slot, Bytes: 64 << 30})
	}
	require.NoError(t, fleet.PowerOn(t.Context(), guest))
	talostest.AwaitStage(t, fleet, 101, talos.StageMaintenance)

	one := node("control-1", true)
	one.Addresses = []netip.Prefix{netip.PrefixFrom(address, 24)}
	one.DataDisks = []machineconfig.DataDisk{{Mount: "models", Drive: 1}, {Mount: "scratch", Drive: 2}}
	patches, err := machineconfig.Patches(cluster("v1.12", netip.Addr{}), one)
	require.NoError(t, err)
	text, err := merge(t, "v1.12", true, patches).Bytes()
	require.NoError(t, err)

	talostest.Apply(t, address, text)
	talostest.AwaitStage(t, fleet, 101, talos.StageRunning)
	return adminOf(t, address)
}

func adminOf(t *testing.T, address netip.Addr) *client.Client {
	t.Helper()
	bundle := bundles.of(t, config.TalosVersion1_12)
	certificate, err := bundle.GenerateTalosAPIClientCertificateWithTTL(talosrole.MakeSet(talosrole.Admin), time.Hour)
	require.NoError(t, err)
	api, err := client.New(t.Context(), client.WithConfig(clientconfig.NewConfig("k3s-dev", []string{address.String()}, bundle.Certs.OS.Crt, certificate)))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, api.Close()) })
	return api
}

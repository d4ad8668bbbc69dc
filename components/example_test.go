package components_test

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"

	"github.com/muhlba91/pulumi-proxmoxve/sdk/v6/go/proxmoxve"
	"github.com/pulumi/pulumi-command/sdk/go/command"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/config"
	"github.com/pulumiverse/pulumi-talos/sdk/go/talos"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/recorder"
)

// A whole program: one control plane and one worker with a GPU, on one host. A program of its own ends with
// pulumi.Run(exampleProgram) in place of the recorder. It runs with EM_INFRA=/usr/local/bin/em-infra, or wherever that is installed, in the
// environment of pulumi.
func Example() {
	made, err := recorder.Record(exampleProgram)
	if err != nil {
		fmt.Println(err)
	}
	for _, name := range made.Names("em-infra:index:") {
		fmt.Println(name)
	}
	// Output:
	// GpuWorker home-gpu-1
	// TalosCluster home
	// TalosNode home-control-1
	// TalosNode home-gpu-1
	// TalosTemplate template
}

func exampleProgram(ctx *pulumi.Context) error {
	providers, err := exampleProviders(ctx)
	if err != nil {
		return err
	}
	template, err := components.NewTalosTemplate(ctx, "template", &components.TalosTemplateArgs{
		API:  components.ProxmoxAPI{Endpoint: "https://vmhost:8006", Token: pulumi.String("em-infra@pve!iac=SECRET")},
		Host: "vmhost", VMID: 9000, TalosVersion: "v1.12.4",
		ISOStorage: "local", DiskStorage: "tank", Bridge: "vmbr0",
	}, providers)
	if err != nil {
		return err
	}
	worker := exampleMachine("gpu-1", components.RoleWorker, 31)
	worker.GPUs = []components.GPU{{Mapping: "rtx3090"}}
	cluster, err := components.NewTalosCluster(ctx, "home", &components.TalosClusterArgs{
		ClusterName:       "home",
		Endpoint:          &url.URL{Scheme: "https", Host: "192.168.20.10:6443"},
		VIP:               netip.MustParseAddr("192.168.20.10"),
		Contract:          "v1.12",
		KubernetesVersion: "v1.35.4",
		PodSubnets:        []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")},
		ServiceSubnets:    []netip.Prefix{netip.MustParsePrefix("10.96.0.0/12")},
		Network: components.NodeNetwork{
			Subnets:     []netip.Prefix{netip.MustParsePrefix("192.168.20.0/24")},
			Gateways:    []netip.Addr{netip.MustParseAddr("192.168.20.1")},
			Nameservers: []netip.Addr{netip.MustParseAddr("192.168.20.1")},
			Bridge:      "vmbr0",
		},
		Templates: []*components.TalosTemplate{template},
		Machines:  []components.Machine{exampleMachine("control-1", components.RoleControlPlane, 11), worker},
	}, providers)
	if err != nil {
		return err
	}
	ctx.Export("kubeconfig", cluster.Kubeconfig)
	ctx.Export("talosconfig", cluster.Talosconfig)
	return nil
}

func exampleMachine(name string, role components.Role, last byte) components.Machine {
	return components.Machine{
		Name: name, Role: role, Host: "vmhost", VMID: 100 + int(last),
		MAC:       net.HardwareAddr{0xbc, 0x24, 0x11, 0x00, 0x00, last},
		Addresses: []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 168, 20, last}), 24)},
		Cores:     4, MemoryMiB: 8192, DiskGiB: 64, DiskStorage: "tank",
	}
}

// exampleProviders reads the token from the stack's configuration: pulumi config set --secret proxmoxToken.
func exampleProviders(ctx *pulumi.Context) (pulumi.ResourceOption, error) {
	proxmox, err := proxmoxve.NewProvider(ctx, "proxmox", &proxmoxve.ProviderArgs{
		Endpoint: pulumi.String("https://vmhost:8006"),
		ApiToken: config.GetSecret(ctx, "proxmoxToken"),
	})
	if err != nil {
		return nil, err
	}
	nodes, err := talos.NewProvider(ctx, "talos", nil)
	if err != nil {
		return nil, err
	}
	commands, err := command.NewProvider(ctx, "command", nil)
	if err != nil {
		return nil, err
	}
	return pulumi.Providers(proxmox, nodes, commands), nil
}

package components_test

import (
	"net"
	"net/netip"
	"net/url"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumiverse/pulumi-talos/sdk/go/talos/machine"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/recorder"
)

func templateFixture(host string) *components.TalosTemplateArgs {
	return &components.TalosTemplateArgs{
		API: apiFixture(), Host: host, VMID: 9000, TalosVersion: "v1.12.4", ISOStorage: "local", DiskStorage: "tank", Bridge: "vmbr0",
	}
}

func apiFixture() components.ProxmoxAPI {
	return components.ProxmoxAPI{Endpoint: "https://vmhost:8006", Token: pulumi.String("em-infra@pve!test=made-up")}
}

func networkFixture() components.NodeNetwork {
	return components.NodeNetwork{
		Subnets:     []netip.Prefix{netip.MustParsePrefix("192.168.20.0/24")},
		Gateways:    []netip.Addr{netip.MustParseAddr("192.168.20.1")},
		Nameservers: []netip.Addr{netip.MustParseAddr("192.168.20.1")},
		Bridge:      "vmbr0",
		VLAN:        20,
	}
}

func machineFixture(name string, role components.Role, last byte) components.Machine {
	return components.Machine{
		Name: name, Role: role, Host: "vmhost", VMID: 100 + int(last), MAC: net.HardwareAddr{0xbc, 0x24, 0x11, 0, 0, last},
		Addresses: []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 168, 20, last}), 24)},
		Cores:     4, MemoryMiB: 8192, DiskGiB: 64, DiskStorage: "tank", Tags: []string{"talos"},
	}
}

func clusterFixture(name string, machines ...components.Machine) *components.TalosClusterArgs {
	return &components.TalosClusterArgs{
		ClusterName:       name,
		Endpoint:          &url.URL{Scheme: "https", Host: "192.168.20.10:6443"},
		VIP:               netip.MustParseAddr("192.168.20.10"),
		Contract:          "v1.12",
		KubernetesVersion: "v1.35.4",
		PodSubnets:        []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")},
		ServiceSubnets:    []netip.Prefix{netip.MustParsePrefix("10.96.0.0/12")},
		Network:           networkFixture(),
		Machines:          machines,
	}
}

// oneAndOne returns a template and a cluster of one control plane and one worker.
func oneAndOne(name string) func(*pulumi.Context, pulumi.ResourceOption) (*components.TalosCluster, error) {
	return func(ctx *pulumi.Context, providers pulumi.ResourceOption) (*components.TalosCluster, error) {
		template, err := components.NewTalosTemplate(ctx, name+"-template", templateFixture("vmhost"), providers)
		if err != nil {
			return nil, err
		}
		args := clusterFixture(name,
			machineFixture(name+"-control-1", components.RoleControlPlane, 11),
			machineFixture(name+"-worker-1", components.RoleWorker, 21))
		args.Templates = []*components.TalosTemplate{template}
		return components.NewTalosCluster(ctx, name, args, providers)
	}
}

// nodeFixture returns a node with a configuration from the caller.
func nodeFixture(template *components.TalosTemplate, m components.Machine) components.TalosNodeArgs {
	return components.TalosNodeArgs{
		Machine:  m,
		Network:  networkFixture(),
		Template: template,
		ClientConfiguration: machine.ClientConfigurationArgs{
			CaCertificate: pulumi.String("ca"), ClientCertificate: pulumi.String("certificate"), ClientKey: pulumi.String("key"),
		},
		MachineConfiguration: pulumi.ToSecret(pulumi.String("configuration")).(pulumi.StringOutput),
	}
}

// configPatches returns the patches that a node's configuration is applied with. They must be secret.
func configPatches(t *testing.T, r *recorder.Recorder, configuration string) []string {
	t.Helper()
	patches := r.Named(t, tokenApply, configuration).Inputs["configPatches"]
	require.True(t, patches.IsSecret(), "the credentials of a registry may stand there")
	var texts []string
	for _, patch := range patches.SecretValue().Element.ArrayValue() {
		texts = append(texts, patch.StringValue())
	}
	return texts
}

package components_test

import (
	"net/netip"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/components"
)

// refusedCluster returns the refusal of a cluster of one control plane, after a change of its arguments and of those of its template.
func refusedCluster(t *testing.T, change func(*components.TalosClusterArgs, *components.TalosTemplateArgs)) error {
	t.Helper()
	return refusal(t, func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
		args, template := clusterFixture("k3s-dev", machineFixture("control-1", components.RoleControlPlane, 11)), templateFixture("vmhost")
		change(args, template)
		made, err := components.NewTalosTemplate(ctx, "template", template, providers)
		if err != nil {
			return err
		}
		args.Templates = []*components.TalosTemplate{made}
		_, err = components.NewTalosCluster(ctx, "k3s-dev", args, providers)
		return err
	})
}

// TestTheNetworkOfAClusterIsCheckedAsStrictlyAsAnInventory: one of each family, in the network.
func TestTheNetworkOfAClusterIsCheckedAsStrictlyAsAnInventory(t *testing.T) {
	t.Parallel()
	addresses := func(texts ...string) func(*components.TalosClusterArgs) {
		return func(args *components.TalosClusterArgs) {
			args.Machines[0].Addresses = nil
			for _, text := range texts {
				args.Machines[0].Addresses = append(args.Machines[0].Addresses, netip.MustParsePrefix(text))
			}
		}
	}
	gateways := func(texts ...string) func(*components.TalosClusterArgs) {
		return func(args *components.TalosClusterArgs) {
			args.Network.Gateways = nil
			for _, text := range texts {
				args.Network.Gateways = append(args.Network.Gateways, netip.MustParseAddr(text))
			}
		}
	}
	for _, test := range []struct {
		name, want string
		change     func(*components.TalosClusterArgs)
	}{
		{"as it is", "", func(*components.TalosClusterArgs) {}},
		{"two addresses of a family", "Machines[0]: Addresses[1]: 192.168.20.12/24 is a second IPv4 address: give at most one for each IP family", addresses("192.168.20.11/24", "192.168.20.12/24")},
		{"an address elsewhere", "Machines[0]: Addresses[0]: 10.0.0.11/24 is in none of Network.Subnets: give an address of one of them", addresses("10.0.0.11/24")},
		{"an address of the other family", "Machines[0]: Addresses[1]: fd00:20::11/64 is in none of Network.Subnets: give an address of one of them", addresses("192.168.20.11/24", "fd00:20::11/64")},
		{"two gateways of a family", "Gateways[1]: 192.168.20.2 is a second IPv4 gateway: give at most one for each IP family", gateways("192.168.20.1", "192.168.20.2")},
		{"a gateway elsewhere", "Gateways[0]: 10.0.0.1 is in none of Subnets: give an address of one of them", gateways("10.0.0.1")},
		{"a link-local gateway", "", gateways("192.168.20.1", "fe80::1")},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := refusedCluster(t, func(args *components.TalosClusterArgs, _ *components.TalosTemplateArgs) { test.change(args) })
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, `talos cluster "k3s-dev": `+test.want)
		})
	}
}

// TestTheVersionsOfAClusterAreCheckedAsStrictlyAsAnInventory: they fit the Talos of the template.
func TestTheVersionsOfAClusterAreCheckedAsStrictlyAsAnInventory(t *testing.T) {
	t.Parallel()
	disk := components.DataDisk{SizeGiB: 10, Storage: "tank", Mount: "data"}
	for _, test := range []struct {
		name, talos, contract, kubernetes, mount, want string
	}{
		{"as they are", "v1.12.4", "v1.12", "v1.35.4", "", ""},
		{"an older contract", "v1.12.4", "v1.8", "v1.35.4", "", ""},
		{"a newer contract", "v1.12.4", "v1.13", "v1.35.4", "", "Contract: v1.13 is above the Talos of Templates[0], v1.12.4: give v1.12, or what the cluster was created with"},
		{"an old Kubernetes", "v1.12.4", "v1.12", "v1.24.1", "", "KubernetesVersion: v1.24.1 is too old for the Talos of Templates[0], v1.12.4: give a version of v1.30 to v1.35"},
		{"a new Kubernetes", "v1.12.4", "v1.12", "v1.36.0", "", "KubernetesVersion: v1.36.0 is too new for the Talos of Templates[0], v1.12.4: give a version of v1.30 to v1.35"},
		{"a Talos that is not known", "v1.99.0", "v1.12", "v1.36.0", "data", ""},
		{"a volume", "v1.12.4", "v1.12", "v1.35.4", "data-2", ""},
		{"a volume of no name", "v1.12.4", "v1.12", "v1.35.4", "my data", `Machines[0]: DataDisks[0].Mount: "my data" is not the name of a volume: use letters, digits and -, at most 34 characters`},
		{"a volume of a long name", "v1.12.4", "v1.12", "v1.35.4", "a234567890123456789012345678901234x", `Machines[0]: DataDisks[0].Mount: "a234567890123456789012345678901234x" is not the name of a volume: use letters, digits and -, at most 34 characters`},
		{"a volume before there were any", "v1.9.5", "v1.9", "v1.31.0", "data", "Machines[0]: DataDisks: user volumes came with Talos v1.10, and its template has v1.9.5: give it a newer one, or no data disks"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			err := refusedCluster(t, func(args *components.TalosClusterArgs, template *components.TalosTemplateArgs) {
				template.TalosVersion, args.Contract, args.KubernetesVersion = test.talos, test.contract, test.kubernetes
				if test.mount != "" {
					disk := disk
					disk.Mount = test.mount
					args.Machines[0].DataDisks = []components.DataDisk{disk}
				}
			})
			if test.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, `talos cluster "k3s-dev": `+test.want)
		})
	}
}

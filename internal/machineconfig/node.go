package machineconfig

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/siderolabs/talos/pkg/machinery/config/generate/stdpatches"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/siderolabs/talos/pkg/machinery/role"

	"github.com/em-infra/em-infra/internal/pve/hardware"
)

// Node contains the settings of one node.
type Node struct {
	// Name is the hostname and the name of the Kubernetes node.
	Name string
	// ControlPlane is whether the node runs etcd and the Kubernetes control plane.
	ControlPlane bool
	// MAC of the card with the node's addresses; unlike names of interfaces, it does not change with the hardware.
	MAC net.HardwareAddr
	// Addresses of the node with the length of their subnet.
	Addresses []netip.Prefix
	// Gateways are the default routes, one for each IP family.
	Gateways []netip.Addr
	// MTU of the card in bytes.
	MTU int
	// NICs are further network cards.
	NICs []NIC
	// DataDisks are mounted as user volumes. They need contract v1.10.
	DataDisks []DataDisk
}

// NIC is a further network card of a node.
type NIC struct {
	// MAC of the card.
	MAC net.HardwareAddr
	// Address with the length of its subnet; the zero value means none.
	Address netip.Prefix
	// MTU of the card in bytes.
	MTU int
}

// Patches returns the documents for one node of a cluster, in the order in which they are merged.
func Patches(c Cluster, n Node) ([]string, error) {
	contract, err := c.contract()
	if err != nil {
		return nil, err
	}
	machine, err := encode(&v1alpha1.Config{
		MachineConfig: machineSection(c, n),
		ClusterConfig: clusterSection(c, n),
	})
	if err != nil {
		return nil, fmt.Errorf("node %q: machine section: %w", n.Name, err)
	}
	// HostnameConfig from contract v1.12 on, machine.network.hostname before, never both (F29).
	hostname, err := stdpatches.WithStaticHostname(contract, n.Name)
	if err != nil {
		return nil, fmt.Errorf("node %q: hostname: %w", n.Name, err)
	}
	volumes, err := volumeDocuments(n.DataDisks)
	if err != nil {
		return nil, fmt.Errorf("node %q: %w", n.Name, err)
	}
	return append([]string{machine, string(hostname)}, volumes...), nil
}

// InstallImage returns the patch that names the installer image, e.g. factory.talos.dev/nocloud-installer/<schematic>:v1.12.4.
// It must be of the platform nocloud, else an installed node loses the address of its first boot (F8).
func InstallImage(image string) (string, error) {
	return encode(&v1alpha1.Config{MachineConfig: &v1alpha1.MachineConfig{
		MachineInstall: &v1alpha1.InstallConfig{InstallImage: image},
	}})
}

// gatewayMetric gives our IPv4 default route priority over the cloud-init drive's, which Talos configures as well, with metric
// 1024 for both: the kernel accepts one route for each destination and metric and refuses the second (`file exists`), so a new
// gateway would have no effect while the drive contains the former one. For IPv6 the drive's metric is 2048 (talos v1.12.4,
// internal/app/machined/pkg/runtime/v1alpha1/platform/nocloud, pkg/machinery/resources/network/route_merge.go).
const gatewayMetric = 512

func machineSection(c Cluster, n Node) *v1alpha1.MachineConfig {
	return &v1alpha1.MachineConfig{
		MachineInstall: &v1alpha1.InstallConfig{InstallDiskSelector: &v1alpha1.InstallDiskSelector{BusPath: scsiPath(hardware.SystemDisk)}},
		MachineNetwork: &v1alpha1.NetworkConfig{
			NetworkInterfaces: devices(c, n),
			NameServers:       addrStrings(c.Nameservers),
		},
		MachineKubelet: &v1alpha1.KubeletConfig{
			KubeletNodeIP:    &v1alpha1.KubeletNodeIPConfig{KubeletNodeIPValidSubnets: c.advertisedSubnets()},
			KubeletExtraArgs: c.kubeletArgs(),
		},
		MachineTime:     &v1alpha1.TimeConfig{TimeServers: c.TimeServers},
		MachineFeatures: features(c, n),
	}
}

// features returns the features that Talos offers to pods; nil for none. Talos refuses them on a worker (talos v1.12.4,
// pkg/machinery/config/types/v1alpha1/v1alpha1_validation.go).
func features(c Cluster, n Node) *v1alpha1.FeaturesConfig {
	if c.SnapshotNamespace == "" || !n.ControlPlane {
		return nil
	}
	enabled := true
	return &v1alpha1.FeaturesConfig{KubernetesTalosAPIAccessConfig: &v1alpha1.KubernetesTalosAPIAccessConfig{
		AccessEnabled: &enabled, AccessAllowedRoles: []string{string(role.EtcdBackup)}, AccessAllowedKubernetesNamespaces: []string{c.SnapshotNamespace},
	}}
}

func devices(c Cluster, n Node) v1alpha1.NetworkDeviceList {
	list := v1alpha1.NetworkDeviceList{device(c, n)}
	for _, nic := range n.NICs {
		list = append(list, furtherDevice(nic))
	}
	return list
}

// furtherDevice returns a device without routes: a node has one default route for each IP family.
func furtherDevice(nic NIC) *v1alpha1.Device {
	dhcp := false
	d := &v1alpha1.Device{
		DeviceSelector: &v1alpha1.NetworkDeviceSelector{NetworkDeviceHardwareAddress: nic.MAC.String()},
		DeviceMTU:      nic.MTU,
		DeviceDHCP:     &dhcp,
	}
	if nic.Address.IsValid() {
		d.DeviceAddresses = []string{nic.Address.String()}
	}
	return d
}

func device(c Cluster, n Node) *v1alpha1.Device {
	dhcp := false
	d := &v1alpha1.Device{
		DeviceSelector:  &v1alpha1.NetworkDeviceSelector{NetworkDeviceHardwareAddress: n.MAC.String()},
		DeviceAddresses: prefixStrings(n.Addresses),
		DeviceMTU:       n.MTU,
		DeviceDHCP:      &dhcp,
	}
	for _, gateway := range n.Gateways {
		route := &v1alpha1.Route{RouteNetwork: defaultRoute(gateway).String(), RouteGateway: gateway.String()}
		if gateway.Is4() {
			route.RouteMetric = gatewayMetric
		}
		d.DeviceRoutes = append(d.DeviceRoutes, route)
	}
	if n.ControlPlane && c.VIP.IsValid() {
		d.DeviceVIPConfig = &v1alpha1.DeviceVIPConfig{SharedIP: c.VIP.String()}
	}
	return d
}

func clusterSection(c Cluster, n Node) *v1alpha1.ClusterConfig {
	section := &v1alpha1.ClusterConfig{
		ClusterNetwork: &v1alpha1.ClusterNetworkConfig{
			CNI:           &v1alpha1.CNIConfig{CNIName: c.CNI.talosName()},
			PodSubnet:     prefixStrings(c.PodSubnets),
			ServiceSubnet: prefixStrings(c.ServiceSubnets),
		},
	}
	if n.ControlPlane {
		allow := c.AllowSchedulingOnControlPlanes
		section.AllowSchedulingOnControlPlanes = &allow
		section.EtcdConfig = &v1alpha1.EtcdConfig{EtcdAdvertisedSubnets: c.advertisedSubnets()}
		if c.KubeProxyReplacement {
			disabled := true
			section.ProxyConfig = &v1alpha1.ProxyConfig{Disabled: &disabled}
		}
	}
	return section
}

func defaultRoute(gateway netip.Addr) netip.Prefix {
	if gateway.Is4() {
		return netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	}
	return netip.PrefixFrom(netip.IPv6Unspecified(), 0)
}

package discovery

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/siderolabs/talos/pkg/machinery/constants"
	"go.yaml.in/yaml/v3"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/nvidia"
	"github.com/em-infra/em-infra/internal/pve/hardware"
)

// Files are the two files of an inventory, and what a person has to know about them.
type Files struct {
	// Cluster is the text of cluster.yaml, and Nodes that of nodes.yaml.
	Cluster, Nodes []byte
	// Notes are sentences about what an inventory cannot express, or what was guessed.
	Notes []string
}

// The keys that are written, in their order; everything else has its default.
type (
	clusterFile struct {
		APIVersion string         `yaml:"apiVersion"`
		Kind       string         `yaml:"kind"`
		Name       string         `yaml:"name"`
		Talos      talosKeys      `yaml:"talos"`
		Kubernetes kubernetesKeys `yaml:"kubernetes"`
		Network    networkKeys    `yaml:"network"`
		Proxmox    proxmoxKeys    `yaml:"proxmox"`
	}
	talosKeys struct {
		Version   string        `yaml:"version"`
		Contract  string        `yaml:"contract"`
		Schematic schematicKeys `yaml:"schematic,flow"`
	}
	schematicKeys struct {
		Extensions []string `yaml:"extensions"`
	}
	kubernetesKeys struct {
		Version                        string       `yaml:"version"`
		Endpoint                       endpointKeys `yaml:"endpoint,flow"`
		PodSubnets                     []string     `yaml:"podSubnets,flow"`
		ServiceSubnets                 []string     `yaml:"serviceSubnets,flow"`
		CNI                            string       `yaml:"cni"`
		AllowSchedulingOnControlPlanes bool         `yaml:"allowSchedulingOnControlPlanes"`
	}
	endpointKeys struct {
		VIP  string `yaml:"vip,omitempty"`
		Host string `yaml:"host,omitempty"`
		Port int    `yaml:"port"`
	}
	networkKeys struct {
		CIDR       string `yaml:"cidr"`
		CIDR6      string `yaml:"cidr6,omitempty"`
		Gateway    string `yaml:"gateway"`
		Gateway6   string `yaml:"gateway6,omitempty"`
		Addressing string `yaml:"addressing"`
		Bridge     string `yaml:"bridge"`
		VLAN       int    `yaml:"vlan,omitempty"`
		MTU        int    `yaml:"mtu,omitempty"`
	}
	proxmoxKeys struct {
		Host           string       `yaml:"host"`
		ISOStorage     string       `yaml:"isoStorage,omitempty"`
		DiskStorage    string       `yaml:"diskStorage"`
		Pool           string       `yaml:"pool,omitempty"`
		Tags           []string     `yaml:"tags,flow,omitempty"`
		SCSIController string       `yaml:"scsiController"`
		Template       templateKeys `yaml:"template,flow"`
	}
	templateKeys struct {
		VMID    int            `yaml:"vmid"`
		PerHost map[string]int `yaml:"perHost,omitempty"`
	}
	nodesFile struct {
		APIVersion string     `yaml:"apiVersion"`
		Kind       string     `yaml:"kind"`
		Nodes      []nodeKeys `yaml:"nodes"`
	}
	nodeKeys struct {
		Name        string         `yaml:"name"`
		Role        string         `yaml:"role"`
		VMID        int            `yaml:"vmid"`
		Address     string         `yaml:"address"`
		Address6    string         `yaml:"address6,omitempty"`
		MAC         string         `yaml:"mac"`
		Host        string         `yaml:"host,omitempty"`
		Sockets     int            `yaml:"sockets,omitempty"`
		Cores       int            `yaml:"cores"`
		MemoryMiB   int            `yaml:"memoryMiB"`
		DiskGiB     int            `yaml:"diskGiB"`
		CPUType     string         `yaml:"cpuType"`
		DiskStorage string         `yaml:"diskStorage,omitempty"`
		DataDisks   []dataDiskKeys `yaml:"dataDisks,omitempty"`
		Networks    []nicKeys      `yaml:"networks,omitempty"`
		GPUs        []gpuKeys      `yaml:"gpus,omitempty"`
		Driver      *driverKeys    `yaml:"driver,flow,omitempty"`
		Tags        []string       `yaml:"tags,flow,omitempty"`
		OnBoot      bool           `yaml:"onBoot"`
	}
	dataDiskKeys struct {
		SizeGiB int    `yaml:"sizeGiB"`
		Storage string `yaml:"storage,omitempty"`
		Mount   string `yaml:"mount"`
	}
	nicKeys struct {
		Bridge  string `yaml:"bridge"`
		VLAN    int    `yaml:"vlan,omitempty"`
		Address string `yaml:"address,omitempty"`
		MTU     int    `yaml:"mtu,omitempty"`
		MAC     string `yaml:"mac"`
	}
	gpuKeys struct {
		Mapping     string `yaml:"mapping,omitempty"`
		BDF         string `yaml:"bdf,omitempty"`
		DeviceID    string `yaml:"deviceId,omitempty"`
		SubsystemID string `yaml:"subsystemId,omitempty"`
		IOMMUGroup  *int   `yaml:"iommuGroup,omitempty"`

		allFunctions bool // of its slot
	}
	driverKeys struct {
		KernelModuleType string `yaml:"kernelModuleType"`
		Branch           string `yaml:"branch"`
	}
)

// Describe returns the inventory of a cluster whose nodes have their machines.
func (c Cluster) Describe() (Files, error) {
	found, err := c.facts()
	if err != nil {
		return Files{}, err
	}
	cluster, err := c.clusterFile(found)
	if err != nil {
		return Files{}, err
	}
	nodes := nodesFile{APIVersion: inventory.APIVersion, Kind: inventory.KindNodes}
	for _, node := range c.Nodes {
		nodes.Nodes = append(nodes.Nodes, node.keys(cluster))
	}
	files := Files{Notes: c.notes(cluster)}
	if files.Cluster, err = written(cluster); err != nil {
		return files, err
	}
	files.Nodes, err = written(nodes)
	return files, err
}

func (c Cluster) clusterFile(found facts) (clusterFile, error) {
	networks, err := c.networks(found.running.Cluster().Network().PodCIDRs())
	if err != nil {
		return clusterFile{}, err
	}
	first := c.Nodes[0]
	storage, _ := first.Machine.disk(hardware.SystemDisk)
	card, network, endpoint := first.card(), found.running.Cluster().Network(), found.running.Cluster().Endpoint()
	file := clusterFile{
		APIVersion: inventory.APIVersion, Kind: inventory.KindCluster, Name: found.running.Cluster().Name(),
		Talos: talosKeys{Version: first.Talos, Contract: found.contract, Schematic: schematicKeys{Extensions: []string{}}},
		Kubernetes: kubernetesKeys{
			Version: first.Kubelet, Endpoint: c.endpoint(endpoint.Hostname(), endpoint.Port()),
			PodSubnets: network.PodCIDRs(), ServiceSubnets: network.ServiceCIDRs(), CNI: network.CNI().Name(),
			AllowSchedulingOnControlPlanes: found.running.Cluster().ScheduleOnControlPlanes(),
		},
		Network: networks,
		Proxmox: proxmoxKeys{
			Host: first.Machine.Node, DiskStorage: storage, Pool: first.Machine.Pool, Tags: c.commonTags(),
			SCSIController: first.Machine.Config["scsihw"], Template: c.templates(first.Machine.Node, found.running.Cluster().ID()),
		},
	}
	file.Network.Addressing, file.Network.Bridge, file.Network.VLAN, file.Network.MTU = first.Machine.addressing(), card.bridge, card.vlan, card.mtu
	for _, name := range withoutDriver(first.Extensions) {
		file.Talos.Schematic.Extensions = append(file.Talos.Schematic.Extensions, "siderolabs/"+name)
	}
	if file.Kubernetes.CNI == constants.CustomCNI {
		file.Kubernetes.CNI = string(inventory.CNINone)
	}
	return file, nil
}

// endpoint returns the address of the Kubernetes API. It becomes a virtual address only if control planes share it and it is in their network. With
// any other address, such as that of a load balancer in that network, they would take it from its owner.
func (c Cluster) endpoint(host, port string) endpointKeys {
	keys := endpointKeys{Host: host, Port: integer(port)}
	if port == "" {
		keys.Port = constants.DefaultControlPlanePort
	}
	inside := slices.ContainsFunc(c.Nodes, func(n Node) bool { return contains(n.Address, host) })
	if inside && slices.ContainsFunc(c.Nodes, func(n Node) bool { return n.shares(host) }) {
		keys.VIP, keys.Host = host, ""
	}
	return keys
}

// address returns that of the Kubernetes API.
func (e endpointKeys) address() string { return cmp.Or(e.VIP, e.Host) }

// commonTags returns the tags that all machines have.
func (c Cluster) commonTags() []string {
	common := c.Nodes[0].Machine.tags()
	for _, node := range c.Nodes[1:] {
		tags := node.Machine.tags()
		common = slices.DeleteFunc(common, func(tag string) bool { return !slices.Contains(tags, tag) })
	}
	return common
}

// keys returns the item of a node. What it shares with the cluster is left out.
func (n Node) keys(cluster clusterFile) nodeKeys {
	storage, size := n.Machine.disk(hardware.SystemDisk)
	keys := nodeKeys{
		Name: n.Name, Role: string(n.roleOf()), VMID: n.Machine.VMID, Address: n.Address.Addr().String(), MAC: n.card().mac,
		Cores: n.Machine.cores(), MemoryMiB: n.Machine.memoryMiB(), DiskGiB: size, CPUType: n.Machine.cpuType(),
		OnBoot: n.Machine.Config["onboot"] == "1",
		GPUs:   n.Machine.gpus(),
		Tags:   slices.DeleteFunc(n.Machine.tags(), func(tag string) bool { return slices.Contains(cluster.Proxmox.Tags, tag) }),
	}
	if cluster.Network.CIDR6 != "" {
		keys.Address6 = n.Address6.Addr().String()
	}
	keys.Networks, _ = n.furtherCards(cluster.Kubernetes.Endpoint.address())
	keys.DataDisks, _ = n.dataDisks(storage)
	if driver, whole := nvidia.Installed(n.Extensions); whole && len(keys.GPUs) > 0 {
		keys.Driver = &driverKeys{KernelModuleType: string(driver.KernelModules), Branch: string(driver.Branch)}
	}
	if n.Machine.Node != cluster.Proxmox.Host {
		keys.Host = n.Machine.Node
	}
	if storage != cluster.Proxmox.DiskStorage {
		keys.DiskStorage = storage
	}
	if sockets := n.Machine.sockets(); sockets != 1 {
		keys.Sockets = sockets
	}
	return keys
}

// written returns the text of a file.
func written(file any) ([]byte, error) {
	var text bytes.Buffer
	text.WriteString("# Found by em-infra adopt. What is not written here has its default: em-infra validate --show prints it.\n")
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	if err := encoder.Encode(file); err != nil {
		return nil, err
	}
	return text.Bytes(), encoder.Close()
}

// Package birth records the facts with which a cluster and its machines were created, and checks which of their changes a run
// can make.
package birth

// Facts are the facts with which a cluster was created. The component of the cluster keeps them in the state.
type Facts struct {
	// Contract of the machine configurations, e.g. v1.12.
	Contract string
	// PodSubnets and ServiceSubnets are networks as texts, e.g. 10.244.0.0/16.
	PodSubnets, ServiceSubnets []string
	// CNI is the network plugin.
	CNI string
	// Machines are the machines of the cluster. Empty for a state of a version that did not record them.
	Machines []Machine
}

// Machine contains the facts that identify a machine. If one of them differs, it is another machine.
type Machine struct {
	// Name is unique in the stack.
	Name string
	// ControlPlane is true if the machine runs etcd and the Kubernetes control plane.
	ControlPlane bool
	// VMID is the number of the machine in Proxmox VE.
	VMID int
	// Addresses are the machine's addresses, without prefix lengths.
	Addresses []string
}

// Keys of the facts in the inputs of a component, and in the trigger of a machine's replacement.
const (
	keyContract       = "contract"
	keyPodSubnets     = "podSubnets"
	keyServiceSubnets = "serviceSubnets"
	keyCNI            = "cni"
	keyMachines       = "machines"
	keyName           = "name"
	keyControlPlane   = "controlPlane"
	keyVMID           = "vmid"
	keyAddresses      = "addresses"
)

// Values returns the facts as inputs of a component.
func (f Facts) Values() map[string]any {
	machines := make([]any, len(f.Machines))
	for i, m := range f.Machines {
		machines[i] = m.Values()
	}
	return map[string]any{
		keyContract: f.Contract, keyPodSubnets: values(f.PodSubnets), keyServiceSubnets: values(f.ServiceSubnets),
		keyCNI: f.CNI, keyMachines: machines,
	}
}

// Values returns the machine as a value of the engine.
func (m Machine) Values() map[string]any {
	return map[string]any{keyName: m.Name, keyControlPlane: m.ControlPlane, keyVMID: float64(m.VMID), keyAddresses: values(m.Addresses)}
}

// ReadFacts reads the facts from the inputs of a component. Missing facts, and those of another type, stay empty: an earlier
// version recorded fewer.
func ReadFacts(inputs map[string]any) Facts {
	var f Facts
	f.Contract, _ = inputs[keyContract].(string)
	f.CNI, _ = inputs[keyCNI].(string)
	f.PodSubnets, f.ServiceSubnets = texts(inputs[keyPodSubnets]), texts(inputs[keyServiceSubnets])
	list, _ := inputs[keyMachines].([]any)
	for _, item := range list {
		f.Machines = append(f.Machines, ReadMachine(item))
	}
	return f
}

// ReadMachine is the inverse of [Machine.Values]. Missing values stay empty.
func ReadMachine(value any) Machine {
	var m Machine
	values, _ := value.(map[string]any)
	m.Name, _ = values[keyName].(string)
	m.ControlPlane, _ = values[keyControlPlane].(bool)
	vmid, _ := values[keyVMID].(float64)
	m.VMID, m.Addresses = int(vmid), texts(values[keyAddresses])
	return m
}

func values(list []string) []any {
	all := make([]any, len(list))
	for i, text := range list {
		all[i] = text
	}
	return all
}

func texts(value any) []string {
	list, _ := value.([]any)
	var all []string
	for _, item := range list {
		if text, isText := item.(string); isText {
			all = append(all, text)
		}
	}
	return all
}

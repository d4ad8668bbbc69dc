package discovery

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Terraform is what a state of Terraform or OpenTofu says about a cluster.
type Terraform struct {
	// Contract of the machine secrets, e.g. v1.12; empty if the state has none.
	Contract string

	machines map[int]string // address of the resource by VMID
}

// terraformMachines are the resources that are virtual machines.
var terraformMachines = []string{
	"proxmox_virtual_environment_vm", "proxmox_virtual_environment_vm2", "proxmox_virtual_environment_cloned_vm", "proxmox_vm", "proxmox_cloned_vm", // bpg/proxmox
	"proxmox_vm_qemu", // Telmate/proxmox
}

// ReadTerraform reads the text of a terraform.tfstate, format 4. Its error quotes nothing of it, since it has the secrets in clear.
func ReadTerraform(text []byte) (Terraform, error) {
	var state struct {
		Version   int
		Resources []struct {
			Module, Mode, Type, Name string
			Instances                []struct {
				IndexKey   any `json:"index_key"`
				Attributes map[string]any
			}
		}
	}
	if err := json.Unmarshal(text, &state); err != nil || state.Version != 4 {
		return Terraform{}, errors.New("it is no state of Terraform in format 4: give the terraform.tfstate, or what `terraform state pull` prints")
	}
	found := Terraform{machines: map[int]string{}}
	for _, one := range state.Resources {
		if one.Mode != "managed" {
			continue
		}
		for _, instance := range one.Instances {
			if one.Type == "talos_machine_secrets" {
				found.Contract = minorOf(instance.Attributes["talos_version"])
			}
			if vmid := vmidOf(instance.Attributes); vmid > 0 && slices.Contains(terraformMachines, one.Type) {
				found.machines[vmid] = addressOf(one.Module, one.Type, one.Name, instance.IndexKey)
			}
		}
	}
	return found, nil
}

// vmidOf returns the VMID of a machine; 0 without one. It is the last part of the ID, such as 101 or vmhost/qemu/101: attributes have other
// names in each resource, and that of Telmate/proxmox to v3.0.1-rc6 (proxmox/resource_vm_qemu.go) is empty if Proxmox VE chose the VMID.
func vmidOf(attributes map[string]any) int {
	switch id := attributes["id"].(type) {
	case float64:
		return int(id)
	case string:
		return integer(id[strings.LastIndex(id, "/")+1:])
	default:
		return 0
	}
}

// minorOf returns the minor release of a version, e.g. v1.12 of v1.12.4; empty for anything else.
func minorOf(version any) string {
	text, _ := version.(string)
	parts := strings.SplitN("v"+strings.TrimPrefix(text, "v"), ".", 3)
	if text == "" || len(parts) < 2 {
		return ""
	}
	return parts[0] + "." + parts[1]
}

// addressOf returns the address of a resource, as `terraform state list` prints it.
func addressOf(module, kind, name string, index any) string {
	address := kind + "." + name
	if module != "" {
		address = module + "." + address
	}
	switch index := index.(type) {
	case string:
		return fmt.Sprintf("%s[%q]", address, index)
	case float64:
		return fmt.Sprintf("%s[%d]", address, int(index))
	default:
		return address
	}
}

// Addresses returns the resources of these machines, in the order of their VMIDs.
func (t Terraform) Addresses(vmids []int) []string {
	var addresses []string
	for _, vmid := range slices.Sorted(slices.Values(vmids)) {
		if address, isKnown := t.machines[vmid]; isKnown {
			addresses = append(addresses, address)
		}
	}
	return addresses
}

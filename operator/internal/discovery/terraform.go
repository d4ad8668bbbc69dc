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

// terraformMachines are the resources that are virtual machines, with the names of their attributes.
var terraformMachines = map[string]struct{ vmid string }{
	"proxmox_virtual_environment_vm": {"vm_id"}, // bpg/proxmox
	"proxmox_vm_qemu":                {"vmid"},  // Telmate/proxmox
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
			kind, isMachine := terraformMachines[one.Type]
			vmid, isNumber := instance.Attributes[kind.vmid].(float64)
			if isMachine && isNumber {
				found.machines[int(vmid)] = addressOf(one.Module, one.Type, one.Name, instance.IndexKey)
			}
		}
	}
	return found, nil
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

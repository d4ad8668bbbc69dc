package risk_test

import (
	"fmt"
	"maps"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/em-infra/em-infra/internal/engine/token"
)

// tools returns the inputs of a machine that is no node, with others.
func tools(others map[string]any) map[string]any {
	inputs := map[string]any{
		"name": "tools", "vmId": 210.0, "nodeName": "vmhost", "memory": map[string]any{"dedicated": 2048.0}, "disks": []any{map[string]any{"size": 16.0}},
		"initialization": map[string]any{"ipConfigs": []any{map[string]any{"ipv4": map[string]any{"address": "192.168.20.30/24"}}}},
	}
	maps.Copy(inputs, others)
	return inputs
}

// iso is the disc of an installer.
const iso = "local:iso/opnsense-abab.iso"

// appliance returns the inputs of a machine that is installed from an ISO, with what is in its drive, and others.
func appliance(drive string, others map[string]any) map[string]any {
	inputs := tools(map[string]any{"cdrom": map[string]any{"fileId": drive}, "cpu": map[string]any{"cores": 1.0}})
	delete(inputs, "initialization")
	maps.Copy(inputs, others)
	return inputs
}

// download returns the event of a Command that has a host download an ISO.
func download(op apitype.OpType, host, before, after string) event {
	ensure := func(volume string) map[string]any {
		return map[string]any{"create": fmt.Sprintf("em-infra image ensure %s %s", host, volume)}
	}
	return event{op: op, kind: token.Command, name: "site-iso-opnsense-" + host, old: ensure(before), new: ensure(after), changed: []string{"triggers[1]"}}
}

// pihole returns the inputs of a container, with others.
func pihole(others map[string]any) map[string]any {
	inputs := map[string]any{
		"vmId": 211.0, "nodeName": "vmhost", "memory": map[string]any{"dedicated": 512.0}, "tags": []any{"dns"},
		"initialization": map[string]any{"hostname": "pihole", "ipConfigs": []any{map[string]any{"ipv4": map[string]any{"address": "dhcp"}}}},
	}
	maps.Copy(inputs, others)
	return inputs
}

// root returns the event of a Command that grows the root of the container.
func root(before, after int) event {
	grow := func(size int) map[string]any {
		return map[string]any{"create": fmt.Sprintf("em-infra container grow vmhost 211 %d", size)}
	}
	return event{
		op: apitype.OpUpdate, kind: token.Command, name: "site-pihole-root", parent: urn(token.StandaloneContainer, "site-pihole"), old: grow(before), new: grow(after), changed: []string{"create"},
	}
}

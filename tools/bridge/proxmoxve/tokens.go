package proxmoxve

import (
	"context"
	"fmt"
	"strconv"

	"github.com/pulumi/pulumi-terraform-bridge/v3/pkg/tfbridge"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

// resources maps every resource of the SDK. The modules have the upper and lower case of the SDK's tokens, since the state of a
// program contains the tokens.
func resources() map[string]*tfbridge.ResourceInfo {
	return map[string]*tfbridge.ResourceInfo{
		prefix + "acl":             named("index", "Acl"),
		prefix + "acme_account":    withID("name", named("index", "AcmeAccount")),
		prefix + "acme_dns_plugin": withID("plugin", named("index", "AcmeDnsPlugin")),
		prefix + "certificate":     named("index", "Certifi"),
		prefix + "dns":             named("index", "DNS"),
		prefix + "hosts":           named("index", "Hosts"),
		prefix + "time":            named("index", "Time"),

		prefix + "apt_repository":          named("Apt", "Repository"),
		prefix + "apt_standard_repository": named("Apt/standard", "Repository"),

		prefix + "cluster_options": named("Cluster", "Options"),

		prefix + "container": named("CT", "Container"),
		prefix + "vm":        named("VM", "VirtualMachine"),
		prefix + "vm2":       withID("id", named("VM", "VirtualMachine2")),

		prefix + "download_file": named("Download", "File"),
		prefix + "file":          named("Storage", "File"),

		prefix + "hagroup":    named("HA", "HAGroup"),
		prefix + "haresource": named("HA", "HAResource"),

		prefix + "hardware_mapping_pci": named("Hardware/mapping", "Pci"),
		prefix + "hardware_mapping_usb": named("Hardware/mapping", "Usb"),

		prefix + "cluster_firewall":                named("Network", "Firewall"),
		prefix + "cluster_firewall_security_group": named("Network", "FirewallSecurityGroup"),
		prefix + "firewall_alias":                  named("Network", "FirewallAlias"),
		prefix + "firewall_ipset":                  named("Network", "FirewallIPSet"),
		prefix + "firewall_options":                named("Network", "FirewallOptions"),
		prefix + "firewall_rules":                  named("Network", "FirewallRules"),
		prefix + "network_linux_bridge":            named("Network", "NetworkBridge"),
		prefix + "network_linux_vlan":              named("Network", "NetworkVlan"),

		prefix + "group":      named("Permission", "Group"),
		prefix + "pool":       named("Permission", "Pool"),
		prefix + "role":       named("Permission", "Role"),
		prefix + "user":       named("Permission", "User"),
		prefix + "user_token": named("User", "Token"),
	}
}

// dataSources maps every function of the SDK.
func dataSources() map[string]*tfbridge.DataSourceInfo {
	return map[string]*tfbridge.DataSourceInfo{
		prefix + "node": function("index", "getNode"),
		prefix + "vm2":  function("index", "getVm2"),

		prefix + "acme_account":  function("Acme", "getAccount"),
		prefix + "acme_accounts": function("Acme", "getAccounts"),
		prefix + "acme_plugin":   function("Acme", "getPlugin"),
		prefix + "acme_plugins":  function("Acme", "getPlugins"),

		prefix + "apt_repository":          function("Apt", "getRepository"),
		prefix + "apt_standard_repository": function("Apt/standard", "getRepository"),

		prefix + "nodes":      function("Cluster", "getNodes"),
		prefix + "datastores": function("Storage", "getDatastores"),

		prefix + "hagroup":     function("HA", "getHAGroup"),
		prefix + "hagroups":    function("HA", "getHAGroups"),
		prefix + "haresource":  function("HA", "getHAResource"),
		prefix + "haresources": function("HA", "getHAResources"),

		prefix + "hardware_mappings":    function("Hardware", "getMappings"),
		prefix + "hardware_mapping_pci": function("Hardware/mapping", "getPci"),
		prefix + "hardware_mapping_usb": function("Hardware/mapping", "getUsb"),

		prefix + "dns":     function("Network", "getDNS"),
		prefix + "hosts":   function("Network", "getHosts"),
		prefix + "time":    function("Network", "getTime"),
		prefix + "version": function("Network", "getVersion"),

		prefix + "group":  function("Permission", "getGroup"),
		prefix + "groups": function("Permission", "getGroups"),
		prefix + "pool":   function("Permission", "getPool"),
		prefix + "pools":  function("Permission", "getPools"),
		prefix + "role":   function("Permission", "getRole"),
		prefix + "roles":  function("Permission", "getRoles"),
		prefix + "user":   function("Permission", "getUser"),
		prefix + "users":  function("Permission", "getUsers"),

		prefix + "vm":  function("VM", "getVirtualMachine"),
		prefix + "vms": function("VM", "getVirtualMachines"),
	}
}

func named(module, name string) *tfbridge.ResourceInfo {
	return &tfbridge.ResourceInfo{Tok: tfbridge.MakeResource(Name, module, name)}
}

func function(module, name string) *tfbridge.DataSourceInfo {
	return &tfbridge.DataSourceInfo{Tok: tfbridge.MakeDataSource(Name, module, name)}
}

// withID is for a plugin-framework resource whose schema has no "id" of type string. Its ID is another property.
func withID(key resource.PropertyKey, info *tfbridge.ResourceInfo) *tfbridge.ResourceInfo {
	info.ComputeID = idFrom(key)
	return info
}

func idFrom(key resource.PropertyKey) tfbridge.ComputeID {
	return func(_ context.Context, state resource.PropertyMap) (resource.ID, error) {
		switch value := state[key]; {
		case value.IsString():
			return resource.ID(value.StringValue()), nil
		case value.IsNumber():
			return resource.ID(strconv.FormatFloat(value.NumberValue(), 'f', -1, 64)), nil
		default:
			return "", fmt.Errorf("the ID comes from property %q, which is %s", key, value.TypeString())
		}
	}
}

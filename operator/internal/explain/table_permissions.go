package explain

var permissions = []row{
	{
		name: "no-bridge-use", speaker: proxmox, failure: "F13", source: "pve-guest-common GuestHelpers.pm, check_vnet_access",
		pattern: saying(`Permission check failed \((?P<path>/sdn/zones/[^,)]+), (?P<privilege>SDN\.Use)\)`),
		meaning: "the token may not plug VMs into that bridge, which Proxmox VE asks for since 8.0",
		do:      "`em-infra role` prints the role that has {privilege}; or as root: `pveum acl modify {path} --users USER@REALM --roles PVESDNUser`",
		safe:    goesOn,
	},
	{
		name: "permission", speaker: proxmox, failure: "F13", source: "pve-access-control RPCEnvironment.pm, check",
		pattern: saying(`Permission check failed \((?P<path>/[^,)]*), (?P<privilege>[\w.|, ]+)\)`),
		meaning: "the token lacks {privilege} on {path}; of a token with privilege separation both it and its user need it",
		do:      "as root on the host, what `em-infra role` prints; then " + upAgain,
		safe:    goesOn,
	},
	{
		name: "token-unknown", speaker: proxmox, source: "pve-access-control AccessControl.pm, check_token_exist and verify_token",
		pattern: saying(`(?:no such token '[^']+'(?: for user '[^']+')?|invalid token value!|token '[^']+' access expired|no such user \('[^']+'\))`),
		meaning: "the token was deleted, has expired, or its secret is another one",
		do:      "make one with `em-infra role`, then `pulumi config set --stack STACK --secret em-infra:proxmoxToken 'USER@REALM!NAME=SECRET'`",
		safe:    notTouched,
	},
	{
		name: "unauthorized", speaker: proxmox, source: "the provider's words for a 401 (bpg proxmox/api/errors.go)",
		pattern: saying(`received an HTTP 401 response - Reason: (?P<reason>[^\n"]*)`),
		meaning: "Proxmox VE does not know the token, or its secret is another one",
		do:      "make one with `em-infra role`, then `pulumi config set --stack STACK --secret em-infra:proxmoxToken 'USER@REALM!NAME=SECRET'`",
		safe:    notTouched,
	},
	{
		name: "old-privilege", speaker: proxmox, failure: "F12", source: "pve-access-control AccessControl.pm, add_role_privs",
		pattern: saying(`invalid privilege '(?P<privilege>[\w.]+)'`),
		meaning: "this release of Proxmox VE has no {privilege}: VM.Monitor went with 9.0",
		do:      "make the role with what `em-infra role --pve 9.1` prints",
		safe:    notTouched,
	},
	{
		name: "root-only-device", speaker: proxmox, failure: "F14", source: "qemu-server API2/Qemu.pm, check_hostpci_perm",
		pattern: saying(`only root can set '(?P<key>hostpci\d+)' config for non-mapped devices`),
		meaning: "a PCI device by its address can only be given by root@pam with a password, never by a token",
		do:      "name the device by all four facts or a mapping, as `em-infra preflight` shows it: gpus in nodes.yaml",
		safe:    notTouched,
	},
	{
		name: "root-only", speaker: proxmox, failure: "F14", source: "qemu-server API2/Qemu.pm, check_vm_modify_config_perm",
		pattern: saying(`only root can set '(?P<key>[\w-]+)' config`),
		meaning: "Proxmox VE lets only root@pam with a password set {key}",
		do:      "set it by hand on the host with `qm set`, where it stays; it is no setting of nodes.yaml",
		safe:    notTouched,
	},
}

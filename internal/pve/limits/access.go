package limits

import "regexp"

// The forms of what the access control has (pve-access-control, PVE/AccessControl.pm).
var (
	// Role is a role's ID (verify_rolename).
	Role = Name{"a role's ID: letters, digits, -, _ and .", regexp.MustCompile(`^[A-Za-z0-9._-]+$`), nil}
	// OwnRole is the ID of a role that can be made: Proxmox VE reserves names that begin with PVE, and has two more roles of its own
	// (PVE/API2/Role.pm, create_role; create_roles).
	OwnRole = Name{
		"a role's ID: letters, digits, -, _ and ., not beginning with PVE, and none of Administrator, NoAccess",
		Role.form, regexp.MustCompile(`^(?i:PVE.*|Administrator|NoAccess)$`),
	}
	// Group is a group's ID (verify_groupname).
	Group = Name{"a group's ID: letters, digits, -, _ and .", regexp.MustCompile(`^[A-Za-z0-9._-]+$`), nil}
	// User is a user of a realm other than the administrator (verify_username).
	User = Name{
		"USER@REALM, at most 64 characters, and not root@pam",
		regexp.MustCompile(`^[^\s:/!]{1,60}@[A-Za-z][A-Za-z0-9._-]+$`), regexp.MustCompile(`^(root@pam|.{65,})$`),
	}
	// Token is the name of a token of a user (token_subid_regex).
	Token = Name{"a token's name: a letter, then letters, digits, -, _ and .", regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._-]+$`), nil}
	// Privilege is a privilege (create_priv).
	Privilege = Name{"a privilege such as VM.Audit", regexp.MustCompile(`^[A-Z][A-Za-z]*(\.[A-Z][A-Za-z]*)+$`), nil}
	// AccessPath is a path of the access control list (check_path). Proxmox VE 8 has no /sdn/fabrics, and refuses it itself.
	AccessPath = Name{
		"a path such as /, /nodes/HOST, /vms/VMID, /storage/STORAGE, /pool/POOL, /mapping/pci/MAPPING, /sdn/zones/localnetwork/BRIDGE, /access/groups/GROUP",
		regexp.MustCompile(`^(/|/access|/access/(groups|realm)(/[A-Za-z0-9._-]+)?|/nodes(/[A-Za-z0-9._-]+)?|/pool(/[A-Za-z0-9._-]+){0,3}` +
			`|/sdn|/sdn/controllers(/[A-Za-z0-9_-]+)?|/sdn/(dns|fabrics|ipams)(/[A-Za-z0-9]+)?|/sdn/zones(/[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+(/[1-9][0-9]{0,3})?)?)?` +
			`|/storage(/[A-Za-z0-9._-]+)?|/vms(/[1-9][0-9]{2,})?|/mapping(/[A-Za-z0-9._-]+){0,2})$`), nil,
	}
)

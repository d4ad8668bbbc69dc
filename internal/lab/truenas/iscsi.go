package truenas

import (
	"regexp"
	"slices"
	"strings"
)

// Namespaces of iSCSI.
const (
	portals       = "iscsi.portal"
	initiators    = "iscsi.initiator"
	targets       = "iscsi.target"
	extents       = "iscsi.extent"
	targetExtents = "iscsi.targetextent"
	auths         = "iscsi.auth"
)

var targetName = regexp.MustCompile(`^[-a-z0-9.:]+$`)

func targetNameKind(value any, at string, problems *invalids) any {
	switch name, is := value.(string); {
	case !is || name == "":
		return nonEmpty(value, at, problems)
	case !targetName.MatchString(name):
		problems.add(at, "Value error, Name can only contain lowercase alphanumeric charactersplus dot (.), dash (-), and colon (:)")
	case len(name) > 120:
		problems.add(at, "String should have at most 120 characters")
	}
	return value
}

var group = model{
	{"portal", integer, required}, {"initiator", orNull(integer), nil}, {"authmethod", oneOf("NONE", "CHAP", "CHAP_MUTUAL"), "NONE"},
	{"auth", orNull(integer), nil},
}

// ofISCSI are the roles that have all of iSCSI.
var ofISCSI = []string{"SHARING_ISCSI", "SHARING"}

// force is the parameter of deletions that can be forced.
var force = field{"force", boolean, false}

// iscsi are the services of plugins/iscsi_, with the models of api/v25_10_5/iscsi_*.py.
func (b *Box) iscsi() []*rowService {
	return []*rowService{
		{
			box: b, namespace: portals, noun: "ISCSIPortal", role: "SHARING_ISCSI_PORTAL", wider: ofISCSI, param: "iscsi_portal", schema: "iscsiportal",
			fields: model{{"listen", listOf(model{{"ip", nonEmpty, required}}.object), required}, {"comment", text, ""}},
			check:  b.checkPortal, complete: b.completePortal,
			deleted: func(row entry) { b.forget(targets, "portal", row) },
		},
		{
			box: b, namespace: initiators, noun: "iSCSITargetAuthorizedInitiator", role: "SHARING_ISCSI_INITIATOR", wider: ofISCSI, param: "iscsi_initiator", schema: "iscsi_initiator",
			fields:  model{{"initiators", listOf(text), []any{}}, {"comment", text, ""}},
			deleted: func(row entry) { b.forget(targets, "initiator", row) },
		},
		{
			box: b, namespace: auths, noun: "iSCSITargetAuthCredential", role: "SHARING_ISCSI_AUTH", wider: ofISCSI, schema: "iscsi_auth",
			fields: model{
				{"tag", integer, required}, {"user", text, required}, {"secret", text, required}, {"peeruser", text, ""}, {"peersecret", text, ""},
				{"discovery_auth", oneOf("NONE", "CHAP", "CHAP_MUTUAL"), "NONE"},
			},
			check: checkAuth,
		},
		{
			box: b, namespace: targets, noun: "iSCSITarget", role: "SHARING_ISCSI_TARGET", wider: ofISCSI, param: "iscsi_target", schema: "iscsi_target",
			fields: model{
				{"name", targetNameKind, required}, {"alias", orNull(text), nil}, {"mode", oneOf("ISCSI", "FC", "BOTH"), "ISCSI"},
				{"groups", listOf(group.object), []any{}}, {"auth_networks", listOf(text), []any{}}, {"iscsi_parameters", anything, nil},
			},
			check: b.checkTarget, deletion: model{force, {"delete_extents", boolean, false}},
			complete: func(row entry) entry {
				row["rel_tgt_id"] = row["id"]
				return row
			},
			deleted: func(row entry) { b.deleteRows(targetExtents, "target", row) },
		},
		b.extentService(),
		{
			box: b, namespace: targetExtents, noun: "iSCSITargetToExtent", role: "SHARING_ISCSI_TARGETEXTENT", wider: ofISCSI, param: "iscsi_target_to_extent", schema: "iscsi_targetextent",
			fields:   model{{"target", integer, required}, {"lunid", orNull(integer), nil}, {"extent", integer, required}},
			deletion: model{force}, check: b.checkTargetExtent,
		},
	}
}

func (b *Box) extentService() *rowService {
	return &rowService{
		box: b, namespace: extents, noun: "iSCSITargetExtent", role: "SHARING_ISCSI_EXTENT", wider: ofISCSI, param: "iscsi_extent", schema: "iscsi_extent",
		fields: model{
			{"name", nonEmpty, required}, {"type", oneOf("DISK", "FILE"), "DISK"}, {"disk", orNull(text), nil}, {"serial", orNull(text), nil},
			{"path", orNull(text), nil}, {"filesize", anything, "0"}, {"blocksize", integer, int64(512)}, {"pblocksize", boolean, false},
			{"avail_threshold", orNull(integer), nil}, {"comment", text, ""}, {"insecure_tpc", boolean, true}, {"xen", boolean, false},
			{"rpm", oneOf("UNKNOWN", "SSD", "5400", "7200", "10000", "15000"), "SSD"}, {"ro", boolean, false}, {"enabled", boolean, true},
			{"product_id", orNull(nonEmpty), nil},
		},
		deletion: model{{"remove", boolean, false}, force}, check: b.checkExtent,
		complete: func(row entry) entry {
			row["naa"], row["vendor"], row["locked"] = "0x6589cfc000000"+strings.Repeat("0", 18-len(words(row["id"])))+words(row["id"]), "TrueNAS", false
			return row
		},
		deleted: func(row entry) { b.deleteRows(targetExtents, "extent", row) },
	}
}

// checkPortal is plugins/iscsi_/portal.py, __validate.
func (b *Box) checkPortal(row, old entry, schema string, problems *invalids) {
	listen := anyList(row["listen"])
	if len(listen) == 0 {
		problems.add(schema+".listen", "At least one listen entry is required.")
	}
	known := append([]string{"0.0.0.0", "::"}, b.config.Addresses...)
	for _, one := range listen {
		address := words(one.(entry)["ip"])
		for _, other := range b.state.Rows[portals] {
			taken := slices.ContainsFunc(anyList(other["listen"]), func(l any) bool { return words(l.(entry)["ip"]) == address })
			if taken && (old == nil || words(other["id"]) != words(old["id"])) {
				problems.add(schema+".listen", "'%s' IP is already in use.", address)
			}
		}
		if !slices.Contains(known, address) {
			problems.add(schema+".listen", "IP %s not configured on this system.", address)
		}
	}
}

func (b *Box) completePortal(row entry) entry {
	for _, one := range anyList(row["listen"]) {
		one.(entry)["port"] = b.state.Global["listen_port"]
	}
	for at, other := range b.state.Rows[portals] {
		if words(other["id"]) == words(row["id"]) {
			row["tag"] = at + 1
		}
	}
	return row
}

// checkAuth is plugins/iscsi_/auth.py, validate.
func checkAuth(row, _ entry, schema string, problems *invalids) {
	secret, peer := words(row["secret"]), words(row["peersecret"])
	if len(secret) < 12 || len(secret) > 16 {
		problems.add(schema+".secret", "Secret must be between 12 and 16 characters.")
	}
	switch {
	case row["peeruser"] == "" && peer != "":
		problems.add(schema+".peersecret", "The peer user is required if you set a peer secret.")
	case row["peeruser"] != "" && peer == "":
		problems.add(schema+".peersecret", "The peer secret is required if you set a peer user.")
	case row["peeruser"] != "" && peer == secret:
		problems.add(schema+".peersecret", "The peer secret cannot be the same as user secret.")
	}
}

// checkTarget is plugins/iscsi_/targets.py, __validate.
func (b *Box) checkTarget(row, old entry, schema string, problems *invalids) {
	if b.taken(targets, "name", row, old) {
		problems.add(schema+".name", "Target with this name already exists")
	}
	for i, one := range anyList(row["groups"]) {
		at := schema + ".groups." + words(i)
		group := one.(entry)
		if b.find(portals, words(group["portal"])) == nil {
			problems.add(at+".portal", "%s Portal not found in database", words(group["portal"]))
		}
		if group["initiator"] != nil && b.find(initiators, words(group["initiator"])) == nil {
			problems.add(at+".initiator", "%s Initiator not found in database", words(group["initiator"]))
		}
		if group["auth"] == nil && group["authmethod"] != "NONE" {
			problems.add(at+".auth", "Authentication group is required for CHAP and CHAP Mutual")
		}
	}
}

// checkExtent is plugins/iscsi_/extents.py, validate.
func (b *Box) checkExtent(row, old entry, schema string, problems *invalids) {
	if b.taken(extents, "name", row, old) {
		problems.add(schema+".name", "Extent name must be unique")
	}
	if row["type"] != "DISK" {
		return
	}
	disk, _ := row["disk"].(string)
	name := strings.TrimPrefix(disk, "zvol/")
	switch found := b.dataset(name); {
	case disk == "":
		problems.add(schema+".disk", "This field is required")
	case name == disk:
		problems.add(schema+".disk", `Disk name must start with "zvol/"`)
	case found == nil || found.Type != volume:
		problems.add(schema+".disk", "Device '/dev/%s' for volume '%s' does not exist", disk, name)
	}
}

// checkTargetExtent is plugins/iscsi_/target_to_extent.py, validate; it chooses a LUN.
func (b *Box) checkTargetExtent(row, old entry, schema string, problems *invalids) {
	used := map[string]bool{}
	for _, other := range b.state.Rows[targetExtents] {
		if old != nil && words(other["id"]) == words(old["id"]) {
			continue
		}
		if words(other["target"]) == words(row["target"]) {
			used[words(other["lunid"])] = true
		}
		if words(other["extent"]) == words(row["extent"]) {
			problems.add(schema+".extent", "Extent is already in use.")
		}
	}
	if row["lunid"] == nil {
		number := 0
		for used[words(number)] {
			number++
		}
		row["lunid"] = int64(number)
	} else if used[words(row["lunid"])] {
		problems.add(schema+".lunid", "LUN ID is already being used for this target.")
	}
	for _, name := range []string{"target", "extent"} {
		if b.find("iscsi."+name, words(row[name])) == nil {
			problems.add(schema+"."+name, "%s %s does not exist", name, words(row[name]))
		}
	}
}

// taken reports whether another row has the same value.
func (b *Box) taken(namespace, name string, row, old entry) bool {
	return slices.ContainsFunc(b.state.Rows[namespace], func(other entry) bool {
		return other[name] == row[name] && (old == nil || words(other["id"]) != words(old["id"]))
	})
}

// deleteRows deletes the rows that refer to one that is gone.
func (b *Box) deleteRows(namespace, name string, gone entry) {
	b.state.Rows[namespace] = slices.DeleteFunc(b.state.Rows[namespace], func(row entry) bool { return words(row[name]) == words(gone["id"]) })
}

// forget removes the groups of targets that refer to one that is gone.
func (b *Box) forget(namespace, name string, gone entry) {
	for _, row := range b.state.Rows[namespace] {
		row["groups"] = slices.DeleteFunc(anyList(row["groups"]), func(one any) bool { return words(one.(entry)[name]) == words(gone["id"]) })
	}
}

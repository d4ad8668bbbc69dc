package truenas

import (
	"crypto/rand"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Namespaces of accounts.
const (
	users      = "user"
	groups     = "group"
	privileges = "privilege"
	apiKeys    = "api_key"
)

// account is a user as a connection knows it.
type account struct {
	name  string
	uid   any
	roles []string
}

// account returns a user with the roles of its groups; nil if there is none.
func (b *Box) account(name string) *account {
	at := slices.IndexFunc(b.state.Rows[users], func(row entry) bool { return row["username"] == name })
	if at < 0 {
		return nil
	}
	row := b.state.Rows[users][at]
	return &account{name: name, uid: row["uid"], roles: b.rolesOf(row)}
}

// rolesOf returns the roles of the privileges whose groups a user is in.
func (b *Box) rolesOf(user entry) []string {
	roles := []string{}
	in := append([]any{user["group"]}, anyList(user["groups"])...)
	for _, privilege := range b.state.Rows[privileges] {
		for _, gid := range anyList(privilege["local_groups"]) {
			member := slices.ContainsFunc(in, func(ID any) bool {
				row := b.find(groups, words(ID))
				return row != nil && words(row["gid"]) == words(gid)
			})
			for _, role := range anyList(privilege["roles"]) {
				if member && !slices.Contains(roles, words(role)) {
					roles = append(roles, words(role))
				}
			}
		}
	}
	return roles
}

// accounts are the services of plugins/account.py, plugins/account_/privilege.py and plugins/api_key.py.
func (b *Box) accounts() []*rowService {
	return []*rowService{
		{
			box: b, namespace: users, noun: "User", role: "ACCOUNT", schema: "user", param: "user", fixed: []string{"uid", "group_create"},
			fields: userFields, check: b.checkUser, made: b.userMade, complete: b.completeUser,
			deletion: model{{"options", model{{"delete_group", boolean, true}}.object, entry{"delete_group": true}}},
			deleted: func(row entry) {
				b.deleteRowsNamed(apiKeys, "username", row["username"])
				b.deleteRowsNamed(groups, "id", row["group"])
			},
		},
		{
			box: b, namespace: groups, noun: "Group", role: "ACCOUNT", schema: "group", param: "group",
			fields: model{{"name", nonEmpty, required}, {"gid", orNull(integer), nil}, {"smb", boolean, true}, {"users", listOf(integer), []any{}}},
			made:   func(row entry) { row["gid"] = 3000 + number(row["id"]) },
			complete: func(row entry) entry {
				row["group"], row["builtin"], row["local"] = row["name"], false, true
				return row
			},
		},
		{
			box: b, namespace: privileges, noun: "Privilege", role: "PRIVILEGE", schema: "privilege", param: "privilege",
			fields: model{
				{"name", nonEmpty, required}, {"local_groups", listOf(integer), []any{}}, {"ds_groups", listOf(anything), []any{}},
				{"roles", listOf(text), []any{}}, {"web_shell", boolean, required},
			},
			check: b.checkPrivilege, complete: b.completePrivilege,
		},
		{
			box: b, namespace: apiKeys, noun: "ApiKey", role: "API_KEY", schema: "api_key", param: "api_key", fixed: []string{"username"},
			fields: model{{"name", nonEmpty, required}, {"username", text, required}, {"expires_at", anything, nil}, {"reset", boolean, unset}},
			check:  b.checkKey, complete: b.completeKey,
			deleted: func(row entry) { delete(b.state.Keys, words(row["id"])) },
		},
	}
}

var userFields = model{
	{"uid", orNull(integer), nil}, {"username", nonEmpty, required}, {"home", nonEmpty, "/var/empty"}, {"shell", nonEmpty, "/usr/bin/zsh"},
	{"full_name", nonEmpty, required}, {"smb", boolean, true}, {"userns_idmap", anything, nil}, {"group", orNull(integer), nil},
	{"groups", listOf(integer), []any{}}, {"password_disabled", boolean, false}, {"ssh_password_enabled", boolean, false},
	{"sshpubkey", orNull(text), nil}, {"locked", boolean, false}, {"sudo_commands", listOf(nonEmpty), []any{}},
	{"sudo_commands_nopasswd", listOf(nonEmpty), []any{}}, {"email", orNull(text), nil}, {"group_create", boolean, false},
	{"home_create", boolean, false}, {"home_mode", text, "700"}, {"password", orNull(text), nil}, {"random_password", boolean, false},
}

func (b *Box) checkUser(row, old entry, schema string, problems *invalids) {
	if b.taken(users, "username", row, old) {
		problems.add(schema+".username", "The username \"%s\" already exists.", words(row["username"]))
	}
	if row["smb"] == true && row["password_disabled"] == true {
		problems.add(schema+".password_disabled", "Password authentication may not be disabled for SMB users.")
	}
	if old == nil && row["password"] == nil && row["password_disabled"] != true {
		problems.add(schema+".password", "Password is required")
	}
	if old == nil && row["group_create"] != true && row["group"] == nil {
		problems.add(schema+".group", "Enter either a group name or create a new group to continue.")
	}
	if row["group"] != nil && b.find(groups, words(row["group"])) == nil {
		problems.add(schema+".group", "Group %s not found", words(row["group"]))
	}
}

// userMade creates the user's own group.
func (b *Box) userMade(row entry) {
	row["uid"] = 3000 + number(row["id"])
	if row["group_create"] == true {
		row["group"] = b.service(groups).insert(entry{"name": row["username"], "gid": nil, "smb": false, "users": []any{}})["id"]
	}
	for _, name := range []string{"group_create", "home_create", "home_mode", "password", "random_password"} {
		delete(row, name)
	}
}

func (b *Box) service(namespace string) *rowService {
	for _, s := range b.rowServices() {
		if s.namespace == namespace {
			return s
		}
	}
	return nil
}

func (b *Box) completeUser(row entry) entry {
	if own := b.find(groups, words(row["group"])); own != nil {
		row["group"] = entry{"id": own["id"], "bsdgrp_gid": own["gid"], "bsdgrp_group": own["name"], "bsdgrp_builtin": false}
	}
	keys := []any{}
	for _, key := range b.state.Rows[apiKeys] {
		if key["username"] == row["username"] {
			keys = append(keys, key["id"])
		}
	}
	if at := slices.IndexFunc(b.state.Rows[users], func(u entry) bool { return u["username"] == row["username"] }); at >= 0 {
		row["roles"] = b.rolesOf(b.state.Rows[users][at])
	}
	row["api_keys"], row["builtin"], row["local"], row["immutable"] = keys, false, true, false
	return row
}

// OperatorRoles are the roles that docs/storage.md asks for the user of em-infra.
var OperatorRoles = []string{
	"POOL_READ", "DATASET_WRITE", "DATASET_DELETE", "SHARING_NFS_WRITE", "SHARING_ISCSI_WRITE", "SERVICE_READ", "SERVICE_WRITE", "ACCOUNT_WRITE",
	"PRIVILEGE_WRITE", "API_KEY_WRITE",
}

// knownRoles are the roles that the lab's methods ask for, and those that contain others (role.py).
var knownRoles = []string{
	"FULL_ADMIN", "READONLY_ADMIN", "SHARING_ADMIN", "POOL_READ", "DATASET_READ", "DATASET_WRITE", "DATASET_DELETE", "SNAPSHOT_READ",
	"SNAPSHOT_WRITE", "SNAPSHOT_DELETE", "SNAPSHOT_TASK_READ", "SNAPSHOT_TASK_WRITE", "SHARING_NFS_READ", "SHARING_NFS_WRITE",
	"SHARING_ISCSI_READ", "SHARING_ISCSI_WRITE", "SHARING_ISCSI_AUTH_WRITE", "SHARING_ISCSI_EXTENT_WRITE", "SHARING_ISCSI_GLOBAL_READ",
	"SHARING_ISCSI_INITIATOR_WRITE", "SHARING_ISCSI_PORTAL_READ", "SHARING_ISCSI_TARGET_WRITE", "SHARING_ISCSI_TARGETEXTENT_WRITE",
	"SERVICE_READ", "SERVICE_WRITE", "ACCOUNT_READ", "ACCOUNT_WRITE", "PRIVILEGE_READ", "PRIVILEGE_WRITE", "API_KEY_READ", "API_KEY_WRITE",
	"SYSTEM_GENERAL_READ", "SHARING_READ", "SHARING_WRITE", "ZFS_RESOURCE_READ",
}

func (b *Box) checkPrivilege(row, old entry, schema string, problems *invalids) {
	if b.taken(privileges, "name", row, old) {
		problems.add(schema+".name", "Object with this name already exists")
	}
	for i, role := range anyList(row["roles"]) {
		if !slices.Contains(knownRoles, words(role)) {
			problems.add(schema+".roles."+strconv.Itoa(i), "Invalid role")
		}
	}
	for i, gid := range anyList(row["local_groups"]) {
		if !slices.ContainsFunc(b.state.Rows[groups], func(g entry) bool { return words(g["gid"]) == words(gid) }) {
			problems.add(schema+".local_groups."+strconv.Itoa(i), "Group %s does not exist", words(gid))
		}
	}
}

// completePrivilege replaces the numbers of groups, which a client gives, by objects.
func (b *Box) completePrivilege(row entry) entry {
	list := []any{}
	for _, gid := range anyList(row["local_groups"]) {
		for _, g := range b.state.Rows[groups] {
			if words(g["gid"]) == words(gid) {
				list = append(list, entry{"id": g["id"], "gid": g["gid"], "name": g["name"], "group": g["name"], "local": true})
			}
		}
	}
	row["local_groups"], row["builtin_name"] = list, nil
	return row
}

func (b *Box) checkKey(row, old entry, schema string, problems *invalids) {
	if b.taken(apiKeys, "name", row, old) {
		problems.add(schema, "name must be unique")
	}
	if b.hasExpired(row) {
		problems.add(schema, "Expiration date is in the past")
	}
	if old != nil {
		return
	}
	switch user := b.account(words(row["username"])); {
	case user == nil:
		problems.add(schema, "User does not exist.")
	case len(user.roles) == 0:
		problems.add(schema, "User lacks privilege role membership.")
	}
}

// hasExpired reports whether a key has ended. Such a key is not revoked, and a reset leaves its end as it is (middleware plugins/api_key.py,
// item_extend and do_update).
func (b *Box) hasExpired(key entry) bool {
	expires, ends := key["expires_at"].(entry)
	return ends && number(expires["$date"]) < int(b.config.Now().UnixMilli())
}

// completeKey adds the key itself to the answer of a creation and of a reset only.
func (b *Box) completeKey(row entry) entry {
	ID := words(row["id"])
	_, known := b.state.Keys[ID]
	if stored := b.find(apiKeys, ID); !known || row["reset"] == true {
		b.state.Keys[ID] = ID + "-" + rand.Text() + rand.Text()
		row["key"] = b.state.Keys[ID]
		delete(stored, "reset")
	}
	delete(row, "reset")
	row["user_identifier"], row["keyhash"], row["local"] = row["username"], "********", true
	row["created_at"] = date(time.UnixMilli(0))
	if row["revoked"] == nil {
		row["revoked"], row["revoked_reason"] = false, nil
	}
	return row
}

func (b *Box) deleteRowsNamed(namespace, name string, value any) {
	b.state.Rows[namespace] = slices.DeleteFunc(b.state.Rows[namespace], func(row entry) bool { return words(row[name]) == words(value) })
}

// addAdministrator creates the user of the configuration, its privilege, and its key.
func (b *Box) addAdministrator() {
	user := b.service(users).insert(entry{
		"username": b.config.User, "full_name": b.config.User, "group_create": true, "groups": []any{}, "smb": false, "password_disabled": true,
		"locked": false,
	})
	roles := make([]any, len(b.config.Roles))
	for i, role := range b.config.Roles {
		roles[i] = role
	}
	b.service(privileges).insert(entry{
		"name": b.config.User, "local_groups": []any{user["group"].(entry)["bsdgrp_gid"]}, "ds_groups": []any{}, "roles": roles, "web_shell": false,
	})
	ID, _, _ := strings.Cut(b.config.Key, "-")
	b.state.Keys[ID] = b.config.Key
	b.service(apiKeys).insert(entry{"name": b.config.User, "username": b.config.User, "expires_at": nil})
}

func number(value any) int {
	whole, err := strconv.Atoi(words(value))
	if err != nil {
		return 0
	}
	return whole
}

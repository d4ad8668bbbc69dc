package proxmox_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"
)

// hostCommand is a command on a host, with the API method that it calls.
type hostCommand struct {
	words string   // its name
	args  []string // what its positional arguments are called
	verb  string
	path  string // {name} stands for an argument, {node} for the host
}

// hostCommands are those that this project tells people to run. Names and positional arguments: qemu-server
// PVE/CLI/qm.pm, pve-container PVE/CLI/pct.pm, pve-storage PVE/CLI/pvesm.pm, pve-access-control PVE/CLI/pveum.pm, pve-manager PVE/CLI/pvenode.pm and pvesh.pm,
// pve-ha-manager CLI/ha_manager.pm. `qm unlock` is no method of the API, and the lab has none
// for `qm reset`, see [lab.runOnHost].
var hostCommands = []hostCommand{
	{"qm set", []string{"vmid"}, http.MethodPut, "/nodes/{node}/qemu/{vmid}/config"},
	{"qm stop", []string{"vmid"}, http.MethodPost, "/nodes/{node}/qemu/{vmid}/status/stop"},
	{"qm reboot", []string{"vmid"}, http.MethodPost, "/nodes/{node}/qemu/{vmid}/status/reboot"},
	{"qm destroy", []string{"vmid"}, http.MethodDelete, "/nodes/{node}/qemu/{vmid}"},
	{"qm disk unlink", []string{"vmid"}, http.MethodPut, "/nodes/{node}/qemu/{vmid}/unlink"},
	{"qm rollback", []string{"vmid", "snapname"}, http.MethodPost, "/nodes/{node}/qemu/{vmid}/snapshot/{snapname}/rollback"},
	{"qm delsnapshot", []string{"vmid", "snapname"}, http.MethodDelete, "/nodes/{node}/qemu/{vmid}/snapshot/{snapname}"},
	{"pct destroy", []string{"vmid"}, http.MethodDelete, "/nodes/{node}/lxc/{vmid}"},
	{"pct rollback", []string{"vmid", "snapname"}, http.MethodPost, "/nodes/{node}/lxc/{vmid}/snapshot/{snapname}/rollback"},
	{"pct resize", []string{"vmid", "disk", "size"}, http.MethodPut, "/nodes/{node}/lxc/{vmid}/resize"},
	{"pct set", []string{"vmid"}, http.MethodPut, "/nodes/{node}/lxc/{vmid}/config"},
	{"pvesm set", []string{"storage"}, http.MethodPut, "/storage/{storage}"},
	{"pvesm remove", []string{"storage"}, http.MethodDelete, "/storage/{storage}"},
	{"pvesm status", nil, http.MethodGet, "/nodes/{node}/storage"},
	{"pvesm free", []string{"volume"}, http.MethodDelete, "/nodes/{node}/storage/{storage}/content/{volume}"},
	{"pveum pool add", []string{"poolid"}, http.MethodPost, "/pools"},
	{"pveum pool delete", []string{"poolid"}, http.MethodDelete, "/pools/{poolid}"},
	{"pveum role list", nil, http.MethodGet, "/access/roles"},
	{"pveum role add", []string{"roleid"}, http.MethodPost, "/access/roles"},
	{"pveum role modify", []string{"roleid"}, http.MethodPut, "/access/roles/{roleid}"},
	{"pveum user add", []string{"userid"}, http.MethodPost, "/access/users"},
	{"pveum user token add", []string{"userid", "tokenid"}, http.MethodPost, "/access/users/{userid}/token/{tokenid}"},
	{"pveum user token remove", []string{"userid", "tokenid"}, http.MethodDelete, "/access/users/{userid}/token/{tokenid}"},
	{"pveum acl modify", []string{"path"}, http.MethodPut, "/access/acl"},
	{"pvenode task status", []string{"upid"}, http.MethodGet, "/nodes/{node}/tasks/{upid}/status"},
	{"pvesh get", []string{"api_path"}, http.MethodGet, "{api_path}"},
	{"ha-manager remove", []string{"sid"}, http.MethodDelete, "/cluster/ha/resources/{sid}"},
}

// asRoot runs a line on a host as root: commands with && or ; between them. It returns the error of the failed command, ""
// for none. It waits for tasks, as the commands do.
func (l *lab) asRoot(host, line string) string {
	l.t.Helper()
	for command := range strings.SplitSeq(strings.ReplaceAll(line, " && ", "; "), "; ") {
		if failure := l.runOnHost(host, words(command)); failure != "" {
			return command + ": " + failure
		}
	}
	return ""
}

func (l *lab) runOnHost(host string, line []string) string {
	l.t.Helper()
	console := map[string]func(context.Context, int) error{"qm unlock": l.server.Unlock, "qm reset": l.server.Reset}
	if do := console[strings.Join(line[:min(len(line), 2)], " ")]; do != nil {
		vmid, err := strconv.Atoi(line[2])
		require.NoError(l.t, err)
		if err := do(l.t.Context(), vmid); err != nil {
			return err.Error()
		}
		return ""
	}
	at := slices.IndexFunc(hostCommands, func(c hostCommand) bool {
		name := strings.Fields(c.words)
		return len(line) >= len(name) && slices.Equal(line[:len(name)], name)
	})
	require.GreaterOrEqual(l.t, at, 0, "%q is no command that this test knows", line)
	path, params := hostCommands[at].request(host, line[len(strings.Fields(hostCommands[at].words)):])
	r := l.do(hostCommands[at].verb, path, params)
	if r.Status != "200 OK" {
		return r.Status + fmt.Sprint(r.Errors)
	}
	if upid := strings.Trim(string(r.Data), `"`); strings.HasPrefix(upid, "UPID:") {
		if end := l.wait(upid).ExitStatus; end != "OK" {
			return end
		}
	}
	return ""
}

// request returns the API call of the command. Positional arguments and options are parameters, except those in the path. An
// option without a value is a switch (pve-common CLIHandler.pm and RESTHandler.pm).
func (c hostCommand) request(host string, line []string) (path string, params url.Values) {
	path, params = strings.ReplaceAll(c.path, "{node}", host), url.Values{}
	for _, name := range c.args {
		params.Set(name, line[0])
		line = line[1:]
	}
	for len(line) > 0 {
		name, value := strings.TrimPrefix(line[0], "--"), "1"
		line = line[1:]
		if len(line) > 0 && !strings.HasPrefix(line[0], "--") {
			value, line = line[0], line[1:]
		}
		params.Set(name, value)
	}
	if volume := params.Get("volume"); volume != "" {
		storage, _, _ := strings.Cut(volume, ":")
		path = strings.ReplaceAll(path, "{storage}", storage)
	}
	for name := range params {
		if filled := strings.ReplaceAll(path, "{"+name+"}", escaped(name, params.Get(name))); filled != path {
			path = filled
			params.Del(name)
		}
	}
	return path, params
}

// escaped returns an argument as a part of a path. The argument of pvesh is a path itself.
func escaped(name, value string) string {
	if name == "api_path" {
		return value
	}
	return url.PathEscape(value)
}

// words splits a line as a shell does, with both forms of quotes.
func words(line string) []string {
	var found []string
	var word strings.Builder
	var quote rune
	for _, r := range line + " " {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote = r
		case quote == 0 && r == ' ':
			if word.Len() > 0 {
				found = append(found, word.String())
			}
			word.Reset()
		default:
			word.WriteRune(r)
		}
	}
	return found
}

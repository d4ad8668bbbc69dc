package proxmox

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// haResource is a VM that the cluster's HA manager keeps in a state (pve-ha-manager 4.0 and 5.0; HA/Resources.pm).
type haResource struct {
	// Values are the settings by the names of the API; what was not set is not there.
	Values map[string]string `json:"values"`
	// Service is the state that the manager has brought the VM to, or "" before it first looked.
	Service string `json:"service,omitempty"`
	// Failures counts the starts that failed in a row.
	Failures int `json:"failures,omitempty"`
	// Stop and Target are commands to the manager: to stop within so many seconds, to move to a node.
	Stop   *int   `json:"stop,omitempty"`
	Target string `json:"target,omitempty"`

	// tended is set while the manager looks after the VM.
	tended bool
}

// States that are asked for; those of services have names of their own.
const (
	haStarted  = "started"
	haStopped  = "stopped"
	haDisabled = "disabled"
	haIgnored  = "ignored"
	haError    = "error"
)

// wanted is the state that is asked for (HA/Config.pm, read_and_check_resources_config).
func (r *haResource) wanted() string {
	if state := r.Values["state"]; state != "" && state != "enabled" {
		return state
	}

	return haStarted
}

func (r *haResource) limit(key string) int {
	n, err := strconv.Atoi(r.Values[key])
	if err != nil {
		return 1
	}

	return n
}

// managed returns what the manager keeps of a VM, unless it ignores it (HA/Config.pm, vm_is_ha_managed).
func (st *state) managed(vmid int) (*haResource, bool) {
	r, ok := st.HA[vmid]

	return r, ok && r.wanted() != haIgnored
}

// shownHA is a resource as the API returns it (API2/HA/Resources.pm, api_copy_config).
type shownHA struct {
	SID         string            `json:"sid"`
	Type        string            `json:"type"`
	Digest      string            `json:"digest"`
	State       string            `json:"state,omitempty"`
	Group       string            `json:"group,omitempty"`
	Comment     string            `json:"comment,omitempty"`
	MaxRestart  *int              `json:"max_restart,omitempty"`
	MaxRelocate *int              `json:"max_relocate,omitempty"`
	Failback    *int              `json:"failback,omitempty"`
	Errors      map[string]string `json:"errors,omitempty"`
}

func (s *Server) showHA(vmid int) shownHA {
	values := s.state.HA[vmid].Values
	number := func(key string) *int {
		if n, err := strconv.Atoi(values[key]); err == nil {
			return &n
		}

		return nil
	}

	return shownHA{
		SID: sid(vmid), Type: "vm", Digest: s.digestHA(), State: values["state"], Group: values["group"],
		Comment: values["comment"], MaxRestart: number("max_restart"), MaxRelocate: number("max_relocate"),
		Failback: number("failback"),
	}
}

func (s *Server) digestHA() string {
	var text strings.Builder

	for _, vmid := range sortedNames(s.state.HA) {
		fmt.Fprintf(&text, "%d %v\n", vmid, s.state.HA[vmid].Values)
	}

	return digest(text.String())
}

func sid(vmid int) string { return fmt.Sprintf("vm:%d", vmid) }

// parseSID takes a VM from "vm:101", or from "101" if there is such a VM (HA/Config.pm, parse_sid).
func (s *Server) parseSID(text string) (int, error) {
	kind, name, typed := strings.Cut(text, ":")
	if !typed {
		vmid, err := strconv.Atoi(text)
		if _, ok := s.state.VMs[vmid]; err != nil || !ok {
			return 0, fmt.Errorf("unable do detect SID from VMID - VM/CT %s does not exist", text)
		}

		return vmid, nil
	}

	vmid, err := strconv.Atoi(name)

	switch {
	case kind != "vm" && kind != "ct":
		return 0, fmt.Errorf("unknown section type '%s'", kind)
	case err != nil || vmid < 10 || strconv.Itoa(vmid) != name:
		return 0, errors.New("invalid VMID")
	case kind == "ct":
		return 0, fmt.Errorf("resource '%s' does not exist in cluster", text)
	default:
		return vmid, nil
	}
}

var haOptions = []string{"state", "group", "comment", "max_restart", "max_relocate", "failback"}

// with is the settings after a change.
func (r *haResource) with(params schema.Params) (map[string]string, error) {
	values := map[string]string{}
	maps.Copy(values, r.Values)

	for _, key := range params.Without("sid", "type", "digest", "delete").Names() {
		values[key] = params.Get(key)
	}

	for _, key := range params.List("delete") {
		if !slices.Contains(haOptions, key) {
			return nil, fmt.Errorf("no such option '%s'", key)
		}

		delete(values, key)
	}

	return values, nil
}

// checkService fails for a service in error, which must be disabled before anything else (API2/HA/Resources.pm,
// check_service_state).
func (r *haResource) checkService(vmid int, state string) error {
	if r.Service == haError && r.wanted() != haIgnored && state != haDisabled {
		return fmt.Errorf("service '%s' in error state, must be disabled and fixed first", sid(vmid))
	}

	return nil
}

package ha

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// resource is an HA resource: a VM with a requested state (pve-ha-manager 4.0 and 5.0; HA/Resources.pm).
type resource struct {
	// Values are the settings with the names of the API. Unset ones are absent.
	Values map[string]string `json:"values"`
	// Service is the state to which the manager has brought the VM, or "" before its first round.
	Service string `json:"service,omitempty"`
	// Failures counts consecutive failed starts.
	Failures int `json:"failures,omitempty"`
	// Stop and Target are commands to the manager: stop within that many seconds, and migrate to that node.
	Stop   *int   `json:"stop,omitempty"`
	Target string `json:"target,omitempty"`

	// tended is set while the manager looks after the VM.
	tended bool
}

// Requested states. Services have other state names.
const (
	stateStarted  = "started"
	stateStopped  = "stopped"
	stateDisabled = "disabled"
	stateIgnored  = "ignored"
	stateError    = "error"
)

// wanted returns the requested state (HA/Config.pm, read_and_check_resources_config).
func (r *resource) wanted() string {
	if state := r.Values["state"]; state != "" && state != "enabled" {
		return state
	}

	return stateStarted
}

func (r *resource) limit(key string) int {
	n, err := strconv.Atoi(r.Values[key])
	if err != nil {
		return 1
	}

	return n
}

// managed returns the resource of a managed VM (HA/Config.pm, vm_is_ha_managed). The caller holds the lock.
func (s *Service) managed(vmid int) (*resource, bool) {
	r, ok := s.resources[vmid]

	return r, ok && r.wanted() != stateIgnored
}

// shownResource is a resource in the API (API2/HA/Resources.pm, api_copy_config).
type shownResource struct {
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

func (s *Service) show(vmid int) shownResource {
	values := s.resources[vmid].Values
	number := func(key string) *int {
		if n, err := strconv.Atoi(values[key]); err == nil {
			return &n
		}

		return nil
	}

	return shownResource{
		SID: sid(vmid), Type: "vm", Digest: s.digest(), State: values["state"], Group: values["group"],
		Comment: values["comment"], MaxRestart: number("max_restart"), MaxRelocate: number("max_relocate"),
		Failback: number("failback"),
	}
}

func (s *Service) digest() string {
	var text strings.Builder

	for _, vmid := range slices.Sorted(maps.Keys(s.resources)) {
		fmt.Fprintf(&text, "%d %v\n", vmid, s.resources[vmid].Values)
	}

	return api.Digest(text.String())
}

func sid(vmid int) string { return fmt.Sprintf("vm:%d", vmid) }

// parseSID returns the VM of "vm:101", or of "101" if that VM exists (HA/Config.pm, parse_sid).
func (s *Service) parseSID(text string) (int, error) {
	kind, name, typed := strings.Cut(text, ":")
	if !typed {
		vmid, err := strconv.Atoi(text)
		if _, _, ok := s.vms.Find(vmid); err != nil || !ok {
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

var options = []string{"state", "group", "comment", "max_restart", "max_relocate", "failback"}

// with returns the settings after a change.
func (r *resource) with(params schema.Params) (map[string]string, error) {
	values := map[string]string{}
	maps.Copy(values, r.Values)

	for _, key := range params.Without("sid", "type", "digest", "delete").Names() {
		values[key] = params.Get(key)
	}

	for _, key := range params.List("delete") {
		if !slices.Contains(options, key) {
			return nil, fmt.Errorf("no such option '%s'", key)
		}

		delete(values, key)
	}

	return values, nil
}

// checkService returns an error for a service in state error, which must be disabled first (API2/HA/Resources.pm,
// check_service_state).
func (r *resource) checkService(vmid int, state string) error {
	if r.Service == stateError && r.wanted() != stateIgnored && state != stateDisabled {
		return fmt.Errorf("service '%s' in error state, must be disabled and fixed first", sid(vmid))
	}

	return nil
}

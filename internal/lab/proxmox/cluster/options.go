package cluster

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

const optionsEndpoint = "/cluster/options"

// defaultPrefix is the prefix of MAC addresses that is shown if none is set. It is not written to the file (pve-cluster
// DataCenterConfig.pm, PROXMOX_OUI).
const defaultPrefix = "BC:24:11"

// The options that the API returns as objects and as lists. All others are returned as text (DataCenterConfig.pm,
// parse_datacenter_config).
var (
	objectOptions = []string{
		"crs", "migration", "replication", "next-id", "ha", "notify", "u2f", "webauthn", "tag-style", "user-tag-access",
	}
	listOptions = []string{"registered-tags"}
)

// clusterOptions handles GET /cluster/options. A caller without Sys.Audit gets two of the options, and the tags that it may use
// (pve-manager API2/Cluster.pm, get_options).
func (s *Service) clusterOptions(c *api.Call) (any, error) {
	guests := s.taggedGuests()

	s.mu.Lock()
	defer s.mu.Unlock()

	all := s.parts.Users.Allowed(c.Identity, "/", "Sys.Audit")
	shown := map[string]any{}

	if all {
		shown["mac_prefix"], shown["description"] = defaultPrefix, ""
	}

	for _, key := range slices.Sorted(maps.Keys(s.options)) {
		if !all && key != "console" && key != "tag-style" {
			continue
		}

		value, err := s.shownOption(key, s.options[key])
		if err != nil {
			return nil, err
		}

		shown[key] = value
	}

	tags, err := s.allowedTags(c.Identity, guests)
	shown["allowed-tags"] = tags

	return shown, err
}

// shownOption returns an option in the format of the API.
func (s *Service) shownOption(key, text string) (any, error) {
	switch {
	case key == "description":
		return text + "\n", nil
	case slices.Contains(listOptions, key):
		return strings.Split(text, ";"), nil
	case !slices.Contains(objectOptions, key):
		return text, nil
	}

	object, err := shownProperties(s.fieldsOf(key), text)
	if err != nil {
		return nil, err
	}

	if tags, ok := object["user-allow-list"].(string); ok {
		object["user-allow-list"] = strings.Split(tags, ";")
	}

	return object, nil
}

// shownProperties returns a property string as an object: flags are numbers, everything else is text.
func shownProperties(fields map[string]*schema.Property, text string) (map[string]any, error) {
	values, err := schema.ParseProperties(fields, text)
	if err != nil {
		return nil, err
	}

	object := make(map[string]any, len(values))
	for name, value := range values {
		object[name] = value

		if fields[name].Type == schema.Boolean {
			object[name] = api.Flag(value == "1")
		}
	}

	return object, nil
}

// fieldsOf returns the fields of an option that is a property string.
func (s *Service) fieldsOf(key string) map[string]*schema.Property {
	method, _ := s.env.Schema.Method(http.MethodPut, optionsEndpoint)
	return method.Parameters[key].Format.Fields
}

// setClusterOptions handles PUT /cluster/options. What is set and deleted in one call is deleted (pve-manager API2/Cluster.pm,
// set_options).
func (s *Service) setClusterOptions(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	next := maps.Clone(s.options)
	if tags, ok := next["registered-tags"]; ok {
		next["registered-tags"] = sortedTags(tags)
	}

	for _, key := range c.Params.Without("delete").Names() {
		next[key] = c.Params.Get(key)
	}

	for _, key := range c.Params.List("delete") {
		delete(next, key)
	}

	if err := s.normalize(next); err != nil {
		return nil, err
	}

	s.options = next
	s.env.Changed()

	return nil, nil
}

func sortedTags(text string) string {
	tags := strings.Split(text, ";")
	slices.Sort(tags)

	return strings.Join(tags, ";")
}

// normalize replaces deprecated values and leaves out default values (DataCenterConfig.pm, write_datacenter_config).
func (s *Service) normalize(options map[string]string) error {
	if unsecure, ok := options["migration_unsecure"]; ok && options["migration"] == "" {
		options["migration"] = "type=secure"
		if unsecure == "1" {
			options["migration"] = "type=insecure"
		}

		delete(options, "migration_unsecure")
	}

	if options["console"] == "applet" {
		options["console"] = "html5"
	}

	if strings.EqualFold(options["mac_prefix"], defaultPrefix) {
		delete(options, "mac_prefix")
	}

	// The description is a comment at the head of the file, so the line that it ends with does not count.
	options["description"] = strings.TrimRight(options["description"], "\n")

	maps.DeleteFunc(options, func(_, value string) bool { return value == "" })

	if lower, upper, err := s.idRange(options); err != nil || lower > upper {
		return fmt.Errorf("lower (%d) <= upper (%d) boundary rule broken", lower, upper)
	}

	return nil
}

// The range of the IDs of new guests without the option next-id.
const lowestID, highestID = 100, 1000 * 1000

// idRange returns the range of the IDs of new guests.
func (s *Service) idRange(options map[string]string) (lower, upper int, err error) {
	lower, upper = lowestID, highestID

	values, err := schema.ParseProperties(s.fieldsOf("next-id"), options["next-id"])
	if err != nil {
		return lower, upper, err
	}

	if text, ok := values["lower"]; ok {
		if lower, err = strconv.Atoi(text); err != nil {
			return lower, upper, err
		}
	}

	if text, ok := values["upper"]; ok {
		upper, err = strconv.Atoi(text)
	}

	return lower, upper, err
}

// taggedGuest is a guest with its tags.
type taggedGuest struct {
	vmid int
	tags []string
}

// taggedGuests returns the guests of all nodes. It calls other parts, so the caller does not hold the lock.
func (s *Service) taggedGuests() []taggedGuest {
	var guests []taggedGuest

	for _, vm := range s.parts.VMs.Statuses() {
		guests = append(guests, taggedGuest{vm.VMID, schema.SplitList(vm.Tags)})
	}

	for _, ct := range s.parts.Containers.Statuses() {
		guests = append(guests, taggedGuest{ct.VMID, schema.SplitList(ct.Tags)})
	}

	return guests
}

// allowedTags returns the tags that a caller may give to guests, sorted (pve-guest-common GuestHelpers.pm, get_allowed_tags). The caller
// holds the lock.
func (s *Service) allowedTags(identity string, guests []taggedGuest) ([]string, error) {
	privileged := s.parts.Users.Allowed(identity, "/", "Sys.Modify")

	granted, err := schema.ParseProperties(s.fieldsOf("user-tag-access"), s.options["user-tag-access"])
	if err != nil {
		return nil, err
	}

	allow, allowed := granted["user-allow"], map[string]bool{}
	if allow == "" {
		allow = "free"
	}

	if allow != "none" || privileged {
		for _, tag := range schema.SplitList(granted["user-allow-list"]) {
			allowed[tag] = true
		}
	}

	if allow == "free" || allow == "existing" || privileged {
		for _, guest := range guests {
			if privileged || s.parts.Users.Allowed(identity, fmt.Sprintf("/vms/%d", guest.vmid), "VM.Audit") {
				for _, tag := range guest.tags {
					allowed[tag] = true
				}
			}
		}
	}

	for _, tag := range schema.SplitList(s.options["registered-tags"]) {
		allowed[tag] = privileged
	}

	maps.DeleteFunc(allowed, func(_ string, may bool) bool { return !may })

	return slices.AppendSeq([]string{}, slices.Values(slices.Sorted(maps.Keys(allowed)))), nil
}

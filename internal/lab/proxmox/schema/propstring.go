package schema

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Properties are the fields of a property string such as "virtio=BC:24:11:00:00:01,bridge=vmbr0".
type Properties map[string]string

// ErrProperties is wrapped by every error of a property string.
var ErrProperties = errors.New("format error")

// alias returns the field for which a name is an alias. The API description contains aliases without a declaration: "volume"
// in every drive format, the card models in the format of network devices (qemu-server QemuServer.pm, QemuServer/Drive.pm).
func alias(fields map[string]*Property, name string) (field, keyField string) {
	if p, ok := fields[name]; !ok || p.Type != "" {
		return name, ""
	}

	switch {
	case name == "volume":
		return "file", ""
	case strings.HasSuffix(name, "_length"):
		return strings.TrimSuffix(name, "_length") + "_max_length", ""
	case fields["model"] != nil && fields["macaddr"] != nil:
		return "macaddr", "model"
	default:
		return name, ""
	}
}

// defaultKeys are the fields whose name is optional, in the order in which a format is searched for them. The description of the containers
// marks them itself, that of the VMs does not.
var defaultKeys = [...]string{
	"file", "model", "cputype", "host", "legacy", "current", "enabled", "type", "source", "dirid",
}

func defaultKey(fields map[string]*Property) string {
	for name, p := range fields {
		if p.DefaultKey {
			return name // there is one at most
		}
	}

	for _, name := range defaultKeys {
		p, ok := fields[name]

		switch {
		case !ok || p.Type == "":
		case name == "enabled" && fields["fstrim_cloned_disks"] == nil:
		case name == "type" && fields["hwaddr"] != nil: // of a container's card
		default:
			return name
		}
	}

	return ""
}

// ParseProperties parses a property string as PVE::JSONSchema::parse_property_string does. Its errors wrap ErrProperties and
// have Proxmox VE's texts.
func ParseProperties(fields map[string]*Property, text string) (Properties, error) {
	values, err := splitProperties(fields, text)
	if err != nil {
		return nil, err
	}

	params := make(Params, len(values))
	for name, value := range values {
		params[name] = Scalar(value)
	}

	if problems := check(withoutAliases(fields), params, false); len(problems) > 0 {
		lines := make([]string, 0, len(problems))
		for _, name := range slices.Sorted(maps.Keys(problems)) {
			lines = append(lines, name+": "+problems[name])
		}

		return nil, fmt.Errorf("%w\n%s", ErrProperties, strings.Join(lines, "\n"))
	}

	return values, nil
}

func splitProperties(fields map[string]*Property, text string) (Properties, error) {
	values := Properties{}

	for part := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(part) == "" {
			continue
		}

		name, value, named := strings.Cut(part, "=")

		switch {
		case !named:
			name, value = defaultKey(fields), part
			if name == "" {
				return nil, propertyError("value without key, but schema does not define a default key")
			}
		case name == "" || value == "":
			return nil, propertyError("missing key in comma-separated list property")
		}

		if err := values.set(fields, name, value); err != nil {
			return nil, err
		}
	}

	return values, nil
}

func (values Properties) set(fields map[string]*Property, name, value string) error {
	field, keyField := alias(fields, name)

	if keyField != "" {
		if _, taken := values[keyField]; taken {
			return propertyError("key alias '%s' is already defined", keyField)
		}

		values[keyField] = name
	}

	if _, taken := values[field]; taken {
		return propertyError("duplicate key in comma-separated list property: %s", field)
	}

	p, known := fields[field]
	if !known {
		return propertyError("invalid key in comma-separated list property: %s", field)
	}

	if p.Type == Boolean {
		value = parseBoolean(value)
	}

	values[field] = value

	return nil
}

type propertyProblem string

func propertyError(format string, args ...any) error {
	return propertyProblem(fmt.Sprintf(format, args...))
}

func (p propertyProblem) Error() string        { return string(p) }
func (p propertyProblem) Is(target error) bool { return target == ErrProperties }

// parseBoolean is PVE::JSONSchema::parse_boolean. Other words are returned unchanged and fail the type check.
func parseBoolean(s string) string {
	switch strings.ToLower(s) {
	case "1", "on", "yes", "true":
		return "1"
	case "0", "off", "no", "false":
		return "0"
	default:
		return s
	}
}

func withoutAliases(fields map[string]*Property) map[string]*Property {
	rest := make(map[string]*Property, len(fields))

	for name, p := range fields {
		if p.Type != "" {
			rest[name] = p
		}
	}

	return rest
}

// PrintProperties returns a property string in Proxmox VE's normal form (PVE::JSONSchema::print_property_string): first the
// default field without its name, then required fields, then the others, each group sorted by name.
func PrintProperties(fields map[string]*Property, values Properties) string {
	first := defaultKey(fields)

	var parts []string

	if value, ok := values[first]; ok {
		parts = append(parts, value)
	}

	mac, cardModel := values["macaddr"]
	if cardModel && first == "model" && len(parts) > 0 {
		parts[0] += "=" + mac
	}

	names := slices.DeleteFunc(slices.Sorted(maps.Keys(values)), func(name string) bool {
		return name == first || name == "macaddr" && first == "model"
	})

	for _, required := range []bool{true, false} {
		for _, name := range names {
			if p, ok := fields[name]; ok && bool(p.Optional) != required {
				parts = append(parts, name+"="+values[name])
			}
		}
	}

	return strings.Join(parts, ",")
}

var sizeForm = regexp.MustCompile(`^(\d+(\.\d+)?)([KMGT])?$`)

// ParseSize parses a disk size such as "32G" into bytes (PVE::JSONSchema::parse_size).
func ParseSize(s string) (uint64, bool) {
	match := sizeForm.FindStringSubmatch(s)
	if match == nil {
		return 0, false
	}

	n, err := strconv.ParseFloat(match[1], 64)
	if err != nil {
		return 0, false
	}

	for _, unit := range []string{"K", "M", "G", "T"} {
		if match[3] == "" {
			break
		}

		n *= 1024

		if unit == match[3] {
			break
		}
	}

	const most = 1 << 62
	if n > most {
		return 0, false
	}

	return uint64(n), true
}

// FormatSize formats bytes with the largest unit that divides them (PVE::JSONSchema::format_size).
func FormatSize(bytes uint64) string {
	units := []string{"", "K", "M", "G", "T"}

	unit := 0
	for unit < len(units)-1 && bytes >= 1024 && bytes%1024 == 0 {
		bytes /= 1024
		unit++
	}

	return strconv.FormatUint(bytes, 10) + units[unit]
}

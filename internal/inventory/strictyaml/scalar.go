package strictyaml

import (
	"cmp"
	"encoding"
	"errors"
	"net/netip"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// wholeNumber is the only accepted form of a number: no octal, hexadecimal, exponent or separator, which YAML 1.1 and 1.2 read
// differently.
var wholeNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)

// scalar decodes a single value.
func (d *decoder) scalar(node *yaml.Node, at *Path, into reflect.Value, limit limits) {
	if node.Kind != yaml.ScalarNode {
		d.refuse(node, at, mistyped(node, yaml.ScalarNode))
		return
	}
	if fault := decodeScalar(node, into, limit); fault != nil {
		d.refuse(node, at, *fault)
	}
}

func decodeScalar(node *yaml.Node, into reflect.Value, limit limits) *Fault {
	switch target := into.Addr().Interface().(type) {
	case *netip.Addr:
		return decodeAddr(node.Value, target)
	case *netip.Prefix:
		return decodePrefix(node.Value, target)
	case encoding.TextUnmarshaler:
		return decodeText(node.Value, target)
	}
	switch into.Kind() {
	case reflect.Int:
		return decodeInt(node, into, limit)
	case reflect.Bool:
		return decodeBool(node, into)
	default:
		return decodeString(node, into, limit)
	}
}

func decodeText(text string, target encoding.TextUnmarshaler) *Fault {
	err := target.UnmarshalText([]byte(text))
	if err == nil {
		return nil
	}
	var fault *Fault
	if !errors.As(err, &fault) {
		return &Fault{What: "is not valid", Rule: err.Error(), Got: text, Do: "choose another value"}
	}
	worded := *fault
	worded.Got = cmp.Or(fault.Got, text)
	return &worded
}

func decodeAddr(text string, target *netip.Addr) *Fault {
	addr, err := netip.ParseAddr(text)
	if err != nil {
		return &Fault{What: "is not an IP address", Got: text, Do: "write one like 192.168.20.11 or fd00:20::11"}
	}
	if fault := CheckAddr(addr); fault != nil {
		return fault
	}
	*target = addr
	return nil
}

// CheckAddr returns why an address cannot be in an inventory; nil if it can.
func CheckAddr(addr netip.Addr) *Fault {
	switch {
	case addr.Zone() != "":
		return &Fault{
			What: "has a zone", Rule: "an address is valid on every host", Got: addr.String(),
			Do: "write " + addr.WithZone("").String(),
		}
	case addr.Is4In6():
		return &Fault{What: "is an IPv4 address written as IPv6", Got: addr.String(), Do: "write " + addr.Unmap().String()}
	default:
		return nil
	}
}

func decodePrefix(text string, target *netip.Prefix) *Fault {
	prefix, err := netip.ParsePrefix(text)
	if err != nil || prefix.Addr().Is4In6() {
		return &Fault{
			What: "is not an address with a prefix length", Got: text,
			Do: "write one like 192.168.20.0/24 or fd00:20::/64",
		}
	}
	*target = prefix
	return nil
}

func decodeInt(node *yaml.Node, into reflect.Value, limit limits) *Fault {
	switch {
	case !wholeNumber.MatchString(node.Value):
		return &Fault{What: "is not a whole number", Got: node.Value, Do: "write digits only"}
	case node.ShortTag() == "!!str":
		return &Fault{What: "is text", Rule: "it is a whole number", Got: strconv.Quote(node.Value), Do: "remove the quotes"}
	}
	number, err := strconv.Atoi(node.Value)
	if rule, ok := limit.admit(number); err != nil || !ok {
		return &Fault{What: "is out of range", Rule: rule, Got: node.Value, Do: "choose a number within"}
	}
	into.SetInt(int64(number))
	return nil
}

// admit reports whether a number is within the bounds, and returns the rule in words.
func (l limits) admit(number int) (rule string, ok bool) {
	ok = (l.min == nil || number >= *l.min) && (l.max == nil || number <= *l.max)
	switch {
	case l.min != nil && l.max != nil:
		return strconv.Itoa(*l.min) + " to " + strconv.Itoa(*l.max), ok
	case l.min != nil:
		return "at least " + strconv.Itoa(*l.min), ok
	case l.max != nil:
		return "at most " + strconv.Itoa(*l.max), ok
	}
	return "a number of 64 bits", ok
}

func decodeBool(node *yaml.Node, into reflect.Value) *Fault {
	word := strings.ToLower(node.Value)
	switch {
	case node.ShortTag() == "!!bool" && (node.Value == "true" || node.Value == "false"):
		into.SetBool(node.Value == "true")
		return nil
	case node.Value == "true" || node.Value == "false":
		return &Fault{What: "is text", Rule: "it is true or false", Got: strconv.Quote(node.Value), Do: "remove the quotes"}
	case word == "true" || word == "yes" || word == "on":
		return &Fault{What: "is neither true nor false", Got: node.Value, Do: "did you mean true?"}
	case word == "false" || word == "no" || word == "off":
		return &Fault{What: "is neither true nor false", Got: node.Value, Do: "did you mean false?"}
	}
	return &Fault{What: "is neither true nor false", Got: node.Value, Do: "write one of the two"}
}

func decodeString(node *yaml.Node, into reflect.Value, limit limits) *Fault {
	switch {
	case node.ShortTag() != "!!str":
		return &Fault{
			What: "is not text", Rule: "YAML reads it as " + tagName(node.ShortTag()), Got: node.Value,
			Do: "put it in quotes",
		}
	case node.Value == "" && !limit.empty:
		return &Fault{What: "is empty", Do: "give a value or remove the key"}
	}
	into.SetString(node.Value)
	return nil
}

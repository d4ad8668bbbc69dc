package schema

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ParamError has the problems of a request's parameters, one sentence per parameter.
type ParamError struct {
	Errors map[string]string
}

// Error returns Proxmox VE's reason phrase for the status line. The details are in the body.
func (e *ParamError) Error() string { return "Parameter verification failed." }

// Details returns the problems sorted by parameter, for logs and tests.
func (e *ParamError) Details() string {
	lines := make([]string, 0, len(e.Errors))
	for _, name := range slices.Sorted(maps.Keys(e.Errors)) {
		lines = append(lines, name+": "+e.Errors[name])
	}

	return strings.Join(lines, "; ")
}

// BadParam returns a ParamError for one parameter.
func BadParam(name, format string, args ...any) *ParamError {
	return &ParamError{Errors: map[string]string{name: fmt.Sprintf(format, args...)}}
}

// Verify checks a request against the method's declaration, as PVE::RESTHandler::handle does. It returns the parameters, with
// lists joined if the method expects one string. Its error is a *ParamError.
func (m *Method) Verify(params Params) (Params, error) {
	verified := m.normalize(params)

	problems := check(m.Parameters, verified, false)
	if len(problems) > 0 {
		return nil, &ParamError{Errors: problems}
	}

	for name, v := range verified {
		if p, ok := Lookup(m.Parameters, name); ok && p.Type != Array && !v.undefined() {
			verified[name] = Scalar(v.Items[0])
		}
	}

	return verified, nil
}

// normalize joins repeated parameters of list formats, and wraps single values of array parameters.
func (m *Method) normalize(params Params) Params {
	normal := make(Params, len(params))

	for name, v := range params {
		if p, ok := Lookup(m.Parameters, name); ok {
			switch {
			case v.Ref == "ARRAY" && p.Type == String && strings.HasSuffix(p.Format.Name, "-list"):
				v = Scalar(strings.Join(v.Items, ","))
			case v.Ref == "" && !v.undefined() && p.Type == Array:
				v.Ref = "ARRAY"
			}
		}

		normal[name] = v
	}

	return normal
}

// check is PVE::JSONSchema::check_object. It returns the problems by name.
func check(set map[string]*Property, params Params, anyName bool) map[string]string {
	problems := map[string]string{}

	for name, p := range set {
		if v, given := params[name]; (!given || v.undefined()) && !bool(p.Optional) && p.Type != Null && p.Type != "" &&
			!strings.HasSuffix(name, "[n]") {
			problems[name] = "property is missing and it is not optional"
		}
	}

	for name, v := range params {
		p, known := Lookup(set, name)
		if !known {
			if !anyName {
				problems[name] = "property is not defined in schema and the schema does not allow additional properties"
			}

			continue
		}

		if v.undefined() {
			continue
		}

		if problem := p.check(v); problem != "" {
			problems[name] = problem
		}

		if other := params[p.Requires]; p.Requires != "" && other.undefined() {
			problems[p.Requires] = fmt.Sprintf("missing property - '%s' requires this property", name)
		}
	}

	return problems
}

func (p *Property) check(v Value) string {
	if p.Type == Array {
		return p.checkArray(v)
	}

	if v.Ref != "" && (p.Type != Boolean || v.Ref != "JSON::PP::Boolean") {
		return fmt.Sprintf("type check ('%s') failed - got %s", p.Type, v.Ref)
	}

	return p.checkScalar(v.Items[0])
}

func (p *Property) checkArray(v Value) string {
	if v.Ref != "ARRAY" {
		return "type check ('array') failed"
	}

	if p.Items == nil {
		return ""
	}

	for _, item := range v.Items {
		if problem := p.Items.checkScalar(item); problem != "" {
			return problem
		}
	}

	return ""
}

var (
	integerForm = regexp.MustCompile(`^[+-]?\d+$`)
	numberForm  = regexp.MustCompile(`^[+-]?(\d+\.\d+|\d+\.|\.\d+|\d+)([eE][+-]?\d+)?$`)
)

// checkScalar is PVE::JSONSchema::check_prop for a string. It returns the problem or "".
func (p *Property) checkScalar(s string) string {
	mistyped := p.Type == Boolean && s != "0" && s != "1" ||
		p.Type == Integer && !integerForm.MatchString(s) ||
		p.Type == NumberT && !numberForm.MatchString(s)
	if mistyped {
		return fmt.Sprintf("type check ('%s') failed - got '%s'", p.Type, s)
	}

	if err := p.checkFormat(s); err != nil {
		return fmt.Sprintf("invalid format - %s\n", err)
	}

	switch length := utf8.RuneCountInString(s); {
	case p.pattern != nil && !p.pattern.MatchString(s), p.longest > 0 && length > p.longest:
		return "value does not match the regex pattern"
	case p.MaxLength != nil && length > *p.MaxLength:
		return fmt.Sprintf("value may only be %d characters long", *p.MaxLength)
	case p.MinLength != nil && length < *p.MinLength:
		return fmt.Sprintf("value must be at least %d characters long", *p.MinLength)
	}

	return p.checkLimits(s)
}

func (p *Property) checkLimits(s string) string {
	if numberForm.MatchString(s) {
		n, err := strconv.ParseFloat(s, 64)

		switch {
		case err != nil && !errors.Is(err, strconv.ErrRange):
			return fmt.Sprintf("type check ('%s') failed - got '%s'", p.Type, s)
		case p.Maximum != nil && n > float64(*p.Maximum):
			return "value must have a maximum value of " + p.Maximum.String()
		case p.Minimum != nil && n < float64(*p.Minimum):
			return "value must have a minimum value of " + p.Minimum.String()
		}
	}

	if len(p.Enum) > 0 && !slices.Contains(p.Enum, s) {
		return fmt.Sprintf("value '%s' does not have a value in the enumeration '%s'", s, strings.Join(p.Enum, ", "))
	}

	return ""
}

func (p *Property) checkFormat(s string) error {
	switch {
	case p.Format.Fields != nil:
		_, err := ParseProperties(p.Format.Fields, s)
		return err
	case p.Format.Name != "":
		return CheckFormat(p.Format.Name, s)
	default:
		return nil
	}
}

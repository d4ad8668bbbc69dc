package operator

import (
	"errors"
	"os"
)

// lentEnvironment are variables of this process that one stack sets, and their former values.
type lentEnvironment struct{ before []formerVariable }

type formerVariable struct {
	name, value string
	isSet       bool
}

// set sets a variable until the environment is put back.
func (e *lentEnvironment) set(name, value string) error {
	former := formerVariable{name: name}
	former.value, former.isSet = os.LookupEnv(name)
	e.before = append(e.before, former)
	return os.Setenv(name, value)
}

// putBack gives all variables their former values. What cannot be put back is an error: the next stack would have the passphrase of this one.
func (e *lentEnvironment) putBack() error {
	var left []error
	for _, former := range e.before {
		if former.isSet {
			left = append(left, os.Setenv(former.name, former.value))
		} else {
			left = append(left, os.Unsetenv(former.name))
		}
	}
	return errors.Join(left...)
}

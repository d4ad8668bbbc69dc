package operator

import (
	"errors"
	"os"
	"slices"
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
	var failed []error
	for _, former := range slices.Backward(e.before) { // the first value of a name that was set twice is the one from before
		if former.isSet {
			failed = append(failed, os.Setenv(former.name, former.value))
		} else {
			failed = append(failed, os.Unsetenv(former.name))
		}
	}
	return errors.Join(failed...)
}

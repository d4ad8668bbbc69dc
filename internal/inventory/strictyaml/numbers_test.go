package strictyaml_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// card has numbers that are constants elsewhere, one of them of a list.
type card struct {
	MTU   int      `yaml:"mtu"`
	Tags  []string `yaml:"tags"`
	Other int      `yaml:"other" min:"3"`
}

func (card) Numbers() map[string]strictyaml.Number {
	return map[string]strictyaml.Number{"mtu": {Min: 576, Max: 65520, Default: 1500}, "tags": {Max: 2}}
}

// misnamed has numbers of a key that it does not have.
type misnamed struct {
	MTU int `yaml:"mtu"`
}

func (misnamed) Numbers() map[string]strictyaml.Number {
	return map[string]strictyaml.Number{"vlan": {Max: 4094}, "mut": {Max: 1}}
}

func TestNumbersAreLikeTags(t *testing.T) {
	t.Parallel()

	fields, err := strictyaml.Fields(reflect.TypeFor[card]())
	require.NoError(t, err)
	require.Equal(t, []int{576, 65520}, []int{*fields[0].Min, *fields[0].Max})
	require.Equal(t, "1500", fields[0].Default.Value)
	require.Nil(t, fields[1].Min)
	require.Equal(t, 2, *fields[1].Max)
	require.Equal(t, 3, *fields[2].Min)
	require.Nil(t, fields[2].Max)
	_, err = strictyaml.Fields(reflect.TypeFor[misnamed]())
	require.EqualError(t, err, "tags of strictyaml_test.misnamed: numbers of keys that there are not: mut, vlan")
}

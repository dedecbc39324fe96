package home

import "fmt"

// Identity is the owner of a home.
type Identity struct {
	Namespace string `json:"namespace"`
	Profile   string `json:"profile"`
	Gateway   string `json:"gateway"`
	UID       string `json:"uid,omitempty"`
}

func (i Identity) String() string {
	return fmt.Sprintf("Profile %s/%s on Gateway %s", i.Namespace, i.Profile, i.Gateway)
}

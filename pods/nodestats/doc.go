// Package nodestats has the form in which nodes say what their pods use: that of kubelets, as far as it is read here.
package nodestats

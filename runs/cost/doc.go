// Package cost knows the prices of the configuration and answers CostService: what actions requested, times how long they had it, times
// the price.
package cost

package cost

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/flyte-binary/flyte-binary/internal/invalid"
	"github.com/flyte-binary/flyte-binary/runs/store/rollups"
)

// Config says what the use of machines costs.
type Config struct {
	// Currency is what prices are in, as it is shown, such as USD. Default USD.
	Currency string `config:"currency"`
	// Prices are what use costs: of each price the first entry that has it and that is about the cluster, the queue and the accelerator
	// counts. Without any, use is shown in hours of cores and of GiB. In the environment and in overrides a price is one line, as in
	// "core=0.04 memory=0.005" or "gpu=2.5 accelerator=nvidia-h100 cluster=east".
	Prices []Price `config:"prices"`
}

// Price is what use costs. A price of 0 is none.
type Price struct {
	// Core is the price of a core for an hour.
	Core float64 `config:"core"`
	// Memory is the price of a GiB for an hour.
	Memory float64 `config:"memory"`
	// GPU is the price of a GPU for an hour.
	GPU float64 `config:"gpu"`
	// Accelerator is the kind of GPU that the entry is about, as tasks name it, such as nvidia-h100; empty means all.
	Accelerator string `config:"accelerator"`
	// Cluster is the id of the cluster that the entry is about; empty means all.
	Cluster string `config:"cluster"`
	// Queue is the queue that the entry is about; empty means all.
	Queue string `config:"queue"`
}

// DefaultConfig has no prices.
func DefaultConfig() Config { return Config{Currency: "USD"} }

var currency = regexp.MustCompile(`^\S{1,8}$`)

// maxPrice bounds a price, so that sums do not overflow.
const maxPrice = 1e6

// Validate lists the fields that are wrong.
func (c Config) Validate() error {
	var found invalid.Fields
	found.If(!currency.MatchString(c.Currency), "currency: has 1 to 8 characters without spaces, got %q", c.Currency)
	for i, price := range c.Prices {
		for _, field := range []struct {
			name  string
			value float64
		}{{"core", price.Core}, {"memory", price.Memory}, {"gpu", price.GPU}} {
			found.If(!(field.value >= 0 && field.value <= maxPrice), "prices[%d].%s: must be from 0 to %.0f, got %g", i, field.name, maxPrice, field.value)
		}
		found.If(price.Core == 0 && price.Memory == 0 && price.GPU == 0, "prices[%d]: has no core, memory or gpu", i)
		found.If(price.Accelerator != "" && (price.Core != 0 || price.Memory != 0), "prices[%d].accelerator: is about gpu alone; give core and memory an entry of their own", i)
	}
	return found.Err()
}

// UnmarshalText reads a price in one line: the form of the environment and of overrides.
func (p *Price) UnmarshalText(text []byte) error {
	*p = Price{}
	numbers := map[string]*float64{"core": &p.Core, "memory": &p.Memory, "gpu": &p.GPU}
	names := map[string]*string{"accelerator": &p.Accelerator, "cluster": &p.Cluster, "queue": &p.Queue}
	var problems []error
	for word := range strings.FieldsSeq(string(text)) {
		field, value, _ := strings.Cut(word, "=")
		number, isNumber := numbers[field]
		name, isName := names[field]
		switch {
		case isName:
			*name = value
		case !isNumber:
			problems = append(problems, fmt.Errorf("it has no field %q", field))
		default:
			var err error
			if *number, err = strconv.ParseFloat(value, 64); err != nil {
				problems = append(problems, fmt.Errorf("%s is a number, got %q", field, value))
			}
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("a price: %s", strings.ReplaceAll(errors.Join(problems...).Error(), "\n", "; "))
	}
	return nil
}

// Prices are those of the configuration.
type Prices struct{ Config }

// Set reports whether there are any.
func (p Prices) Set() bool { return len(p.Config.Prices) > 0 }

// Digest tells prices from others.
func (p Prices) Digest() []byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "%+v", p.Config.Prices))
	return sum[:]
}

// of are the prices of a core, a GiB and a GPU for an hour at a rate.
func (p Prices) of(rate rollups.Rate) (core, memory, gpu float64) {
	for i := range p.Config.Prices {
		one := &p.Config.Prices[i]
		if one.Cluster != "" && one.Cluster != rate.Cluster || one.Queue != "" && one.Queue != rate.Queue {
			continue
		}
		if core == 0 {
			core = one.Core
		}
		if memory == 0 {
			memory = one.Memory
		}
		if gpu == 0 && (one.Accelerator == "" || strings.EqualFold(one.Accelerator, rate.Accelerator)) {
			gpu = one.GPU
		}
	}
	return core, memory, gpu
}

const (
	coreHour = 1000 * 3600 // thousandths of a core for seconds
	gibHour  = 1024 * 3600 // MiB for seconds
)

// Cost is what use costs.
func (p Prices) Cost(used []rollups.Priced) (sum float64) {
	for _, one := range used {
		core, memory, gpu := p.of(one.Rate)
		sum += core*float64(one.Use.CPU)/coreHour + memory*float64(one.Use.Memory)/gibHour + gpu*float64(one.Use.GPU)/coreHour
	}
	return sum
}

// Unpriced reports whether some of the use has no price.
func (p Prices) Unpriced(used []rollups.Priced) bool {
	for _, one := range used {
		core, memory, gpu := p.of(one.Rate)
		if core == 0 && one.Use.CPU > 0 || memory == 0 && one.Use.Memory > 0 || gpu == 0 && one.Use.GPU > 0 {
			return true
		}
	}
	return false
}

// Micro is the number of units of a weight in one of the currency.
const Micro = 1e6

// Weigh is the cost in millionths of the currency. Without prices it is the processor time, to have an order.
func (p Prices) Weigh(used []rollups.Priced) (sum int64) {
	if p.Set() {
		return int64(min(p.Cost(used)*Micro, 1<<62))
	}
	for _, one := range used {
		sum += one.Use.CPU
	}
	return sum
}

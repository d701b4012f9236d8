// Package wit_types is what the contract's options, results and tuples are in Go. The generated code
// asks for it by these names.
package wit_types

// Which case an option is.
const (
	OptionNone = 0
	OptionSome = 1
)

// Option is a value or none.
type Option[T any] struct {
	tag   uint8
	value T
}

// None is no value.
func None[T any]() Option[T] { return Option[T]{} }

// Some is a value.
func Some[T any](value T) Option[T] { return Option[T]{OptionSome, value} }

// Tag says which case it is.
func (option Option[T]) Tag() uint8 { return option.tag }

// IsSome says whether there is a value.
func (option Option[T]) IsSome() bool { return option.tag == OptionSome }

// Some is the value; it panics when there is none.
func (option Option[T]) Some() T {
	if option.tag != OptionSome {
		panic("an option without a value was asked for it")
	}
	return option.value
}

// SomeOr is the value, or another one.
func (option Option[T]) SomeOr(other T) T {
	if option.tag == OptionSome {
		return option.value
	}
	return other
}

// Which case a result is.
const (
	ResultOk  = 0
	ResultErr = 1
)

// Result is what came of something, or why nothing did.
type Result[T any, E any] struct {
	tag uint8
	ok  T
	err E
}

// Ok is what came of it.
func Ok[T any, E any](value T) Result[T, E] { return Result[T, E]{tag: ResultOk, ok: value} }

// Err is why nothing did.
func Err[T any, E any](err E) Result[T, E] { return Result[T, E]{tag: ResultErr, err: err} }

// Tag says which case it is.
func (result Result[T, E]) Tag() uint8 { return result.tag }

// IsErr says whether it failed.
func (result Result[T, E]) IsErr() bool { return result.tag == ResultErr }

// Ok is what came of it; it panics when nothing did.
func (result Result[T, E]) Ok() T {
	if result.tag != ResultOk {
		panic("a failure was asked for what came of it")
	}
	return result.ok
}

// Err is why nothing came of it; it panics when something did.
func (result Result[T, E]) Err() E {
	if result.tag != ResultErr {
		panic("a success was asked why it failed")
	}
	return result.err
}

// Unit is no value at all.
type Unit struct{}

// Tuple2 is two values.
type Tuple2[A any, B any] struct {
	F0 A
	F1 B
}

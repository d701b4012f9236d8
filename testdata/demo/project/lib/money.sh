# Prints an amount of cents as euros.
euros() {
    printf '%d.%02d EUR\n' $(($1 / 100)) $(($1 % 100))
}

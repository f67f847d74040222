// Linked with one whole layer and what it may use; see cmake/layers.cmake.
int main() { return 0; }
